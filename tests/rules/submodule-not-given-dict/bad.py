from torch import nn


class IceTransformer(nn.Module):
    def forward(self, obj):
        if isinstance(obj, dict):
            x = obj["x"]
        else:
            x = obj.x
        return 2 * x


_TRANSFORMER_REGISTRY = {"IceTransformer": IceTransformer}


class OneTransformer(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.transformer = _TRANSFORMER_REGISTRY[style](**kwargs)

    def forward(self, *args, **kwargs):
        return self.transformer(*args, **kwargs)


class IceFuser(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.blocks = nn.ModuleList(OneTransformer(style="IceTransformer") for _ in range(depth))

    def forward(self, obj):
        x = obj["x"]
        mask = obj.get("mask")
        for block in self.blocks:
            x = block(x) if mask is None else block(obj)  # [submodule-not-given-dict]
            obj["x"] = x
        return x
