from megatron.core import mpu


def own_experts(count):
    experts, tensors = mpu.get_expert_model_parallel_world_size(), mpu.get_tensor_model_parallel_world_size()
    here = count // experts // tensors
    begin = mpu.get_expert_model_parallel_rank() * here * tensors + mpu.get_tensor_model_parallel_rank() * here
    return [begin + index for index in range(here)]
