"""Groups that nothing is known of, and a size that is made of two."""

from megatron.core import parallel_state as mpu


def own(items, group):
    return items[group.rank() :: mpu.get_data_parallel_world_size()]


def joint(items):
    parts = mpu.get_data_parallel_world_size() * mpu.get_tensor_model_parallel_world_size()
    return items[mpu.get_data_parallel_rank() :: parts]
