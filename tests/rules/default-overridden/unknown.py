from megatron.training import pretrain
from settings import defaults, size


def main(datasets, model_provider, forward_step):
    pretrain(datasets, model_provider, None, forward_step, args_defaults={**defaults, "seed": size})
