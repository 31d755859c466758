"""A share of two axes: each of their ranks moves by its own stride, and both strides are made of the one share."""

from megatron.core import parallel_state as mpu


def first_expert(config):
    tp = mpu.get_tensor_model_parallel_world_size()
    own = config.num_experts // mpu.get_expert_model_parallel_world_size() // tp
    return mpu.get_expert_model_parallel_rank() * own * tp + mpu.get_tensor_model_parallel_rank() * own
