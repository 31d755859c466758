from loaders import EndlessSampler, build_loader
from megatron.training import pretrain
from torch.utils.data import DataLoader


def datasets(sizes):
    data = list(range(100))
    train = DataLoader(data, batch_size=2, sampler=EndlessSampler(data))
    return iter(train), iter(build_loader()), None


def main(model_provider, forward_step):
    pretrain(datasets, model_provider, None, forward_step, args_defaults={"dataloader_type": "external"})
