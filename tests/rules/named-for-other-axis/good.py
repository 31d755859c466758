from megatron.core import mpu


class Layout:
    def __init__(self):
        self.tp_rank = mpu.get_tensor_model_parallel_rank()
        self.tp_group = mpu.get_expert_tensor_parallel_group()
        self.rank = mpu.get_pipeline_model_parallel_rank()
        self.dp_cp_group = mpu.get_data_parallel_group(with_context_parallel=True)
        dp_group = mpu.get_data_parallel_group(with_context_parallel=True)
        self.model_group = dp_group


def reduce(reducer, loss, tp_group=None):
    return reducer(loss, cp_group=mpu.get_data_parallel_group(with_context_parallel=True), tp_group=tp_group)


def heads(config, num_heads):
    tp_size = config.tensor_model_parallel_size
    size = config.pipeline_model_parallel_size
    return num_heads // tp_size // size
