from torch import nn


class IceBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim)


class IceDistributedFuser(nn.Module):
    def __init__(self, dim, config=None):
        super().__init__()
        self.block = OneBlock(style="IceBlock", dim=dim)  # [non-distributed-style-in-chain]


_BLOCK_REGISTRY = {"IceBlock": IceBlock}


class OneBlock(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.block = _BLOCK_REGISTRY[style](**kwargs)


class Ice_stage0(nn.Module):
    def __init__(self, dim, config=None):
        super().__init__()
        self.fuser = IceDistributedFuser(dim, config=config)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor
