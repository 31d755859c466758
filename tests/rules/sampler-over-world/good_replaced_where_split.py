import torch.distributed as dist
from torch.utils.data import DistributedSampler


class Engine:
    def __init__(self, mpu=None):
        self.mpu = mpu
        self.tp_group = None if mpu is None else mpu.get_tensor_model_parallel_group()
        self.global_rank = dist.get_rank()

    def loader(self, dataset):
        size, rank = dist.get_world_size(), self.global_rank
        if self.mpu is not None:
            size, rank = self.mpu.get_data_parallel_world_size(), self.mpu.get_data_parallel_rank()
        return DistributedSampler(dataset, num_replicas=size, rank=rank)

    def evaluate(self, dataset):
        rank = self.global_rank
        if self.mpu is not None:
            rank = self.mpu.get_data_parallel_rank()
        return DistributedSampler(dataset, rank=rank)
