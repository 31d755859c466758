from megatron.core import mpu


def layout(rank_of, size):
    tp_rank = rank_of()
    dp_size = size // mpu.get_tensor_model_parallel_world_size()
    return tp_rank, dp_size, mpu.get_tensor_model_parallel_rank()
