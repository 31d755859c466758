from megatron.core import parallel_state


class Split:
    def __init__(self, depth):
        self.depth = depth

    def span(self):
        pp = parallel_state.get_pipeline_model_parallel_world_size()
        here = self.depth // pp  # [layer-split-drops-remainder]
        first = parallel_state.get_pipeline_model_parallel_rank() * here
        return first, first + here
