import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class IceBlock(nn.Module):
    def forward(self, x):
        return x


class IceFuser(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.blocks = nn.ModuleList(IceBlock() for _ in range(depth))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


_FUSER_REGISTRY = {"IceFuser": IceFuser}


class OneFuser(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.fuser = _FUSER_REGISTRY[style](**kwargs)

    def forward(self, x):
        return self.fuser(x)


class Ice_stage0(nn.Module):
    def __init__(self, depth, config=None, **kwargs):
        super().__init__()
        self.pre_process = self.share_embeddings_and_output_weights = self.input_tensor = None
        self.config = config
        self.layer1 = OneFuser(style="IceFuser", depth=depth)

    def run_layer(self, x):
        return self.layer1(x)  # [stage-not-checkpointed]

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        return self.run_layer(x)
