from megatron.core import mpu

from .kernels import linear


def row(x, weight, bias, layout):
    if layout.alone:
        return linear(x, weight, bias)
    return linear(x, weight, group=mpu.get_tensor_model_parallel_group())
