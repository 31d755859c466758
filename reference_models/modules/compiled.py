"""torch.compile for the models: what lies between the matrix products of a block runs in a few kernels."""

import torch
from torch import nn

from .fast_layers import use_fast_layers

_AROUND_THE_BLOCKS = (
    "patchembed2d",
    "patchembed3d",
    "downsample",
    "upsample",
    "patchrecovery2d",
    "patchrecovery3d",
)


def compile_parts(model: nn.Module) -> None:
    """Compile each transformer block, and the layers around them, in place; names of parameters stay.

    The blocks of a layer differ in nothing that matters to the compiler, so it works once for all of them
    instead of on a whole model.
    """
    use_fast_layers(model)
    torch._dynamo.config.recompile_limit = 128  # blocks share their code, but not grids and drop-path rates
    for name, module in model.named_modules():
        if name.rpartition(".")[2] in _AROUND_THE_BLOCKS:
            module.compile(dynamic=False)
        for block in module.blocks.children() if hasattr(module, "blocks") else ():
            block.compile(dynamic=False)
