from megatron.core import parallel_state as mpu


class Dealt:
    def __init__(self):
        self.rank = mpu.get_data_parallel_rank()
        self.world = mpu.get_data_parallel_world_size()

    def __iter__(self):
        return iter(list(range(100))[self.rank :: self.world])


def number_in_model(stages):
    """The number of a rank among those of one replica takes both."""
    tp = mpu.get_tensor_model_parallel_world_size()
    return mpu.get_pipeline_model_parallel_rank() * tp + mpu.get_tensor_model_parallel_rank()
