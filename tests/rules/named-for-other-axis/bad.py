from megatron.core import mpu


class Layout:
    def __init__(self):
        self.tp_rank = mpu.get_pipeline_model_parallel_rank()  # [named-for-other-axis]
        dp_size = mpu.get_tensor_model_parallel_world_size()  # [named-for-other-axis]
        self.share = 128 // dp_size


def reduce(reducer, loss):
    return reducer(loss, dp_group=mpu.get_tensor_model_parallel_group())  # [named-for-other-axis]


def heads(config, num_heads):
    tp_size = config.pipeline_model_parallel_size  # [named-for-other-axis]
    return num_heads // tp_size
