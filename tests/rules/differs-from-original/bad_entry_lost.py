"""The mask is no longer in the dict that a part is given, and the first part is not built."""

from torch import nn

from onescience.distributed.megatron.core.tensor_parallel import ColumnParallelLinear


class BrackenPart(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.proj = nn.Linear(dim, dim)

    def forward(self, obj):
        return self.proj(obj["x"]) * obj.get("mask", 1)


class BrackenDistributedPart(nn.Module):
    def __init__(self, dim, config=None):
        super().__init__()
        self.proj = ColumnParallelLinear(
            dim, dim, config=config, init_method=config.init_method, bias=True, gather_output=True
        )

    def forward(self, obj):
        return self.proj(obj["x"])[0] * obj.get("mask", 1)


class BrackenFuser(nn.Module):
    def __init__(self, dim, parts):
        super().__init__()
        self.first = BrackenPart(dim)
        self.parts = nn.ModuleList(BrackenPart(dim) for _ in range(parts))

    def forward(self, obj):
        x, mask = obj["x"], obj["mask"]
        x = self.first({"x": x, "mask": mask})
        for part in self.parts:
            x = part({"x": x, "mask": mask})
        return x


class BrackenDistributedFuser(nn.Module):
    def __init__(self, dim, parts, config=None):
        super().__init__()
        self.first = BrackenDistributedPart(dim, config=config)
        self.parts = nn.ModuleList(
            BrackenDistributedPart(dim, config=config)
            for _ in range(1, parts)  # [differs-from-original]
        )

    def forward(self, obj):
        x, mask = obj["x"], obj["mask"]
        x = self.first({"x": x})  # [differs-from-original]
        for part in self.parts:
            x = part({"x": x, "mask": mask})
        return x
