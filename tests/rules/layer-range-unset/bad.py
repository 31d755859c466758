from megatron.core import parallel_state
from torch import nn


class Processor(nn.Module):
    def __init__(self, processor_size=15, layer_start=0, layer_end=15, dim=64):
        super().__init__()
        self.processor_size = processor_size
        self.count = layer_end - layer_start
        layers = []
        for _ in range(layer_start, layer_end):
            layers.append(nn.Linear(dim, dim))
        self.layers = nn.ModuleList(layers)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def model_provider(args):
    if parallel_state.get_pipeline_model_parallel_world_size() == 1:
        return Processor(processor_size=args.processor_size, dim=args.dim)  # [layer-range-unset]
    return Processor(processor_size=args.processor_size, layer_end=args.processor_size, dim=args.dim)
