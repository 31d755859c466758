from megatron.core import mpu
from megatron.training import pretrain
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Flow(Dataset):
    def __len__(self):
        return 100

    def __getitem__(self, index):
        return index


class Pipe:
    def __init__(self, size):
        self.data, self.size = Flow(), size

    def loader(self):
        sampler = None
        if self.size > 1:
            sampler = DistributedSampler(self.data, mpu.get_data_parallel_world_size(), mpu.get_data_parallel_rank())
        loader = DataLoader(self.data, batch_size=self.size, sampler=sampler)
        return loader, sampler


def datasets(sizes):
    pipe = Pipe(size=2)
    train, sampler = pipe.loader()
    return iter(train), None, None  # [loader-ends-early]


def main(model_provider, forward_step):
    pretrain(datasets, model_provider, None, forward_step, args_defaults={"dataloader_type": "external"})
