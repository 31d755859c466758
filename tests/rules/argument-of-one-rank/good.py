from megatron.core.tensor_parallel import reduce_from_tensor_model_parallel_region
from torch.nn import functional as F


def row(x, weight, bias, group):
    if group.size() == 1:
        return F.linear(x, weight, bias)
    return reduce_from_tensor_model_parallel_region(F.linear(x, weight)) + bias


def prepared(x, weight, bias, group):
    bias = bias.float()
    x = x + bias
    if group.size() == 1:
        return F.linear(x, weight, bias)
    return reduce_from_tensor_model_parallel_region(F.linear(x, weight))


def first_only(x, bias, count):
    if len(x) == 1:
        return x[0] + bias
    return x[1]


def whole(x, world_size):
    if world_size == 1:
        return x
    return reduce_from_tensor_model_parallel_region(x)


class Attention:
    def forward(self, x, bias):
        if self.mesh.size() <= 1:
            return self.plain(x, bias=bias)
        return self.by_parts(x)


def takes(cache, k_scale):
    if cache.element_size() == 1:
        return k_scale.numel() == 1
    return True
