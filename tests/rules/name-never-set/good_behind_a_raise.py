"""What stands behind a raise never runs, and a parameter of the same name is set."""

from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


class StepDistributedBlock(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.proj = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method)

    def forward(self, x, shapes=None):
        if shapes is None:
            shapes = x.shape
        return self.proj(x)[0].view(shapes)

    def evaluate(self, x):
        raise NotImplementedError("not for evaluation yet")
        return self.forward(x, sent_shapes)


def send(output, sent_shapes, log):
    if sent_shapes is None:
        sent_shapes = [part.shape for part in output]
    log(lambda: sent_shapes)
    return output, sent_shapes
