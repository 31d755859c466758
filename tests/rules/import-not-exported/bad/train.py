from megatron.training import pretrain
from weather import ERA5Data, LeakyData  # [import-not-exported]


def main(model_provider, forward_step):
    pretrain(lambda sizes: (ERA5Data(), LeakyData(), None), model_provider, None, forward_step)
