from case import forward_step
from case import model_provider as provider
from megatron.training import get_args, pretrain

from onescience_check.runtime.flags import core_transformer_config_from_args


def model_provider(pre_process=True, post_process=True):
    get_args().config = core_transformer_config_from_args(get_args())
    return provider(pre_process, post_process)


pretrain(None, model_provider, None, forward_step)
