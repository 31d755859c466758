from torch import nn

from distributedmlp import DistributedMlp

_MLP_REGISTRY = {"DistributedMlp": DistributedMlp}


class OneMlp(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.mlp = _MLP_REGISTRY[style](**kwargs)
