from megatron.training import pretrain
from weather import ERA5Data, cmems, shared, size

try:
    from weather import Faster
except ImportError:
    Faster = None


def main(model_provider, forward_step):
    pretrain(lambda sizes: (ERA5Data(), cmems.Data(), None), model_provider, None, forward_step)
