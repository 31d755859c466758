from torch import nn


class IceMlp(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)


_REGISTRY = {"IceMlp": IceMlp}


class OneModule(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.module = _REGISTRY[style](**kwargs)


class Ice(nn.Module):
    """No stage."""

    def __init__(self, dim):
        super().__init__()
        self.mlp = OneModule(style="IceMlp", dim=dim)


class Ice_stage0(nn.Module):
    """Pipeline only: nothing in it is split over TP ranks."""

    def __init__(self, dim, style):
        super().__init__()
        self.mlp = OneModule(style="IceMlp", dim=dim)
        self.some = OneModule(style=style, dim=dim)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor
