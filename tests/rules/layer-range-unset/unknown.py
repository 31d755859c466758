from megatron.core import parallel_state
from torch import nn


class Processor(nn.Module):
    def __init__(self, processor_size=15, layer_start=0, layer_end=15, dim=64):
        super().__init__()
        self.processor_size = processor_size
        self.layers = nn.ModuleList([nn.Linear(dim, dim) for _ in range(layer_start, layer_end)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def model_provider(args, sizes):
    parallel_state.get_pipeline_model_parallel_world_size()
    return Processor(processor_size=args.processor_size, **sizes)
