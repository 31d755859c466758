from megatron.core import parallel_state as mpu
from torch import nn

from layers import Layer


def layers_here(total):
    stages = mpu.get_pipeline_model_parallel_world_size()
    assert total % stages == 0
    each = total // stages
    return mpu.get_pipeline_model_parallel_rank() * each, each


class Stack(nn.Module):
    def __init__(self, config, total):
        super().__init__()
        first, count = layers_here(total)
        self.first = first
        self.layers = nn.ModuleList(Layer(config, i + 1) for i in range(count))  # [offset-ignored]


def whole_name(name, first):  # [offset-ignored]
    head, mark, rest = name.partition("layers.")
    number, _, tail = rest.partition(".")
    return f"{head}{mark}{int(number)}.{tail}"


def names(stack):
    return [whole_name(name, stack.first) for name, _ in stack.named_parameters()]
