from torch import nn


class IceFuser(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)

    def forward(self, x):
        return self.fc(x)


_FUSER_REGISTRY = {"IceFuser": IceFuser}


class OneFuser(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.fuser = _FUSER_REGISTRY[style](**kwargs)

    def forward(self, x):
        return self.fuser(x)


class Ice_stage0(nn.Module):
    """One style chosen wrongly is one cause, wherever it is built."""

    def __init__(self, dim, config=None):
        super().__init__()
        self.first = OneFuser(style="IceFuser", dim=dim, config=config)  # [style-arguments-rejected]
        self.second = OneFuser(style="IceFuser", dim=2 * dim, config=config)
        self.third = OneFuser(style="IceFuser", dim=dim, depth=2)  # [style-arguments-rejected]

    def forward(self, x):
        return self.third(self.second(self.first(x)))
