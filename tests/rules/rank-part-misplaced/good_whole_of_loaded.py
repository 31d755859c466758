import torch
from torch import nn
from vllm.distributed import get_tensor_model_parallel_rank, get_tensor_model_parallel_world_size


class ShardedTable(nn.Module):
    def __init__(self, n_bins, heads):
        super().__init__()
        self.tp_rank = get_tensor_model_parallel_rank()
        self.tp = get_tensor_model_parallel_world_size()
        assert heads % self.tp == 0
        self.table = nn.Parameter(torch.zeros(n_bins, heads // self.tp))

    def weight_loader(self, param, loaded_weight):
        size = param.data.shape[1]
        begin = self.tp_rank * size
        param.data.copy_(loaded_weight.narrow(1, begin, size))
