from megatron.core import mpu


def restore(model, state):
    rank = mpu.get_pipeline_model_parallel_rank()
    size = mpu.get_tensor_model_parallel_world_size()
    for name, p in model.named_parameters():
        p.data.copy_(state[name].chunk(size, dim=p.partition_dim)[rank])  # [rank-and-size-of-different-axes]
