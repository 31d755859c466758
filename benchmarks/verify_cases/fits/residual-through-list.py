from case import Model


class Case(Model):
    def __init__(self, config):
        super().__init__(16, 8, 2, config)

    def forward(self, x):
        return super().forward(x.abs().long().clamp(max=15))
