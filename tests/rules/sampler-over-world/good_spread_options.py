import torch
import torch.distributed as dist
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from fairscale.nn.model_parallel.initialize import initialize_model_parallel, get_data_parallel_rank, get_data_parallel_world_size
from fairscale.nn.model_parallel.layers import ColumnParallelLinear, RowParallelLinear


class Net(torch.nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = ColumnParallelLinear(d, 4 * d, gather_output=False)
        self.down = RowParallelLinear(4 * d, d, input_is_parallel=True)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


def main(dataset, opts):
    dist.init_process_group("nccl")
    initialize_model_parallel(opts.tp)
    sampler_kw = dict(num_replicas=get_data_parallel_world_size(), rank=get_data_parallel_rank(), shuffle=True)
    sampler = DistributedSampler(dataset, **sampler_kw)
    loader = DataLoader(dataset, batch_size=opts.bs, sampler=sampler)
    net = Net(opts.dim).cuda()
    opt = torch.optim.AdamW(net.parameters())
    for epoch in range(opts.epochs):
        sampler.set_epoch(epoch)
        for x, y in loader:
            loss = torch.nn.functional.mse_loss(net(x.cuda()), y.cuda())
            loss.backward()
            opt.step()
            opt.zero_grad()
