class Mapping:
    def __init__(self, pp_size, pp_rank, tp_group):
        self.pp_size = pp_size
        self.pp_rank = pp_rank
        self.tp_group = tp_group

    def is_first_pp_rank(self):
        return self.pp_rank == 0

    def layers(self, num_layers):
        here = num_layers // self.pp_size
        return list(range(self.pp_rank * here, (self.pp_rank + 1) * here))
