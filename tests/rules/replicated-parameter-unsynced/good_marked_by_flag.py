from torch import nn


def mark(module: nn.Module, sequence_parallel: bool, config):
    for parameter in module.parameters(recurse=False):
        setattr(parameter, "sequence_parallel", sequence_parallel)
        setattr(parameter, "allreduce", not sequence_parallel)
        setattr(parameter, "sequence_parallel", not config.replicate_tokens)
