from megatron.core import parallel_state
from mymodels import ClimateNet


def model_provider(pre_process=None, post_process=None, vp_stage=None):
    flags = {
        "pre_process": parallel_state.is_pipeline_first_stage(),
        "post_process": parallel_state.is_pipeline_last_stage(),
    }
    return ClimateNet(depth=24, **flags)
