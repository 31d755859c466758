from megatron.core import parallel_state as mpu


class Dealt:
    def __init__(self):
        self.rank = mpu.get_data_parallel_rank()
        self.world = mpu.get_pipeline_model_parallel_world_size()

    def __iter__(self):
        return iter(list(range(100))[self.rank :: self.world])  # [rank-and-size-of-different-axes]


def part_of(total, rank, world):
    return rank * (total // world)


def own_part(total):
    ranks = mpu.get_tensor_model_parallel_world_size()
    return part_of(total, mpu.get_pipeline_model_parallel_rank(), ranks)  # [rank-and-size-of-different-axes]
