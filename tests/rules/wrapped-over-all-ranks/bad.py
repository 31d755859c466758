from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Up(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.up = ColumnParallelLinear(8, 32, config=config, init_method=config.init_method)

    def forward(self, x):
        return self.up(x)[0]


class Net(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.block = Up(config)

    def forward(self, x):
        return self.block(x)


def build(config):
    net = Net(config)
    net = net.cuda()
    return DDP(net, device_ids=[0])  # [wrapped-over-all-ranks]
