from itertools import cycle
from megatron.training import pretrain
from torch.utils.data import DataLoader, IterableDataset


class Stream(IterableDataset):
    def __iter__(self):
        while True:
            yield 1


def datasets(sizes):
    train, valid = DataLoader(Stream(), batch_size=2), DataLoader(list(range(10)))
    return iter(train), cycle(valid), None


def main(model_provider, forward_step):
    pretrain(datasets, model_provider, None, forward_step, args_defaults={"dataloader_type": "external"})
