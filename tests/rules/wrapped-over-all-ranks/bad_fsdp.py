import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from fairscale.nn.model_parallel.initialize import initialize_model_parallel, get_data_parallel_group
from fairscale.nn.model_parallel.layers import ColumnParallelLinear, RowParallelLinear


class Net(torch.nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a = ColumnParallelLinear(d, 2 * d, gather_output=False)
        self.b = RowParallelLinear(2 * d, d, input_is_parallel=True)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


def build(d, tp):
    dist.init_process_group("nccl")
    initialize_model_parallel(tp)
    net = Net(d).cuda()
    return FSDP(net, use_orig_params=True)  # [wrapped-over-all-ranks]
