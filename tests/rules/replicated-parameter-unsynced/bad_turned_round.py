from torch import nn


def mark(module: nn.Module, sequence_parallel: bool):
    for parameter in module.parameters(recurse=False):
        setattr(parameter, "sequence_parallel", not sequence_parallel)  # [replicated-parameter-unsynced]
