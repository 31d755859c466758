from megatron.core.tensor_parallel import ColumnParallelLinear


class Generates:
    """What `self(…)` runs is the matter of the model that mixes this in."""

    def __init__(self, config):
        self.out = ColumnParallelLinear(8, 8, config=config, init_method=config.init_method)

    def generate(self, x):
        return self(inputs=x, mask=None)

    def forward(self, x, lengths):
        return self.out(self.generate(x))[0], lengths
