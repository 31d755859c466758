"""What the layers compute is kept in the dict, and the input is returned."""

from torch import nn

from onescience.distributed.megatron.core.tensor_parallel import ColumnParallelLinear


class GlacierFuser(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))

    def forward(self, obj):
        obj = {"x": obj["x"], "mask": obj["mask"]}
        for block in self.blocks:
            obj["x"] = block(obj["x"])
        return obj["x"]


class GlacierDistributedFuser(nn.Module):
    def __init__(self, dim, depth, config=None):
        super().__init__()
        self.blocks = nn.ModuleList(
            ColumnParallelLinear(
                dim, dim, config=config, init_method=config.init_method, bias=True, gather_output=True
            )
            for _ in range(depth)
        )

    def forward(self, obj):
        x = obj["x"]
        obj = {"x": x, "mask": obj["mask"]}
        for block in self.blocks:
            obj["x"], _ = block(obj["x"])
        return x  # [differs-from-original]
