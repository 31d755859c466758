import torch
from torch import nn
from vllm.distributed import get_tensor_model_parallel_rank, get_tensor_model_parallel_world_size


class Row(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.tp_size, self.tp_rank = get_tensor_model_parallel_world_size(), get_tensor_model_parallel_rank()
        self.own = inputs // self.tp_size
        self.weight = nn.Parameter(torch.empty(outputs, self.own))

    def weight_loader(self, param, loaded_weight):
        size = param.data.shape[1]
        param.data.copy_(loaded_weight.narrow(1, self.tp_rank * size, size))


class Merged(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.tp_size, self.tp_rank = get_tensor_model_parallel_world_size(), get_tensor_model_parallel_rank()
        self.own = hidden // self.tp_size
        self.weight = nn.Parameter(torch.empty(2 * self.own, inputs))

    def weight_loader(self, param, loaded_weight, shard_id):
        size = loaded_weight.shape[0] // self.tp_size
        part = loaded_weight.narrow(0, self.tp_rank * size, size)
        param.data.narrow(0, shard_id * size, size).copy_(part)


def share(total, rank, size):
    return rank * (total // size), (rank + 1) * (total // size)


def load(whole, parameter, dim, tp_rank, tp_size):
    lo, hi = share(whole.shape[dim], tp_rank, tp_size)
    parameter.copy_(whole.narrow(dim, lo, hi - lo))
