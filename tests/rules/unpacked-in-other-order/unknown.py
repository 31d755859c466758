from megatron.core import mpu

from .layout import share


def rows(total):
    first, count = share(total)
    return range(first, first + count, mpu.get_tensor_model_parallel_world_size())


def cut(x):
    count, first = share(len(x))
    return x[first : first + count]
