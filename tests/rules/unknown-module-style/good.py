from torch import nn

_MLP_REGISTRY = {"Linear": nn.Linear, "Identity": nn.Identity}


class OneMlp(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        cls = _MLP_REGISTRY.get(style)
        if cls is None:
            raise ValueError(f"unknown style {style}")
        self.mlp = cls(**kwargs)


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.mlp = OneMlp(style="Linear", in_features=dim, out_features=dim)
        self.same = OneMlp("Identity")
