import torch
from torch import nn

DTYPES = {"float32": torch.float32, "half": torch.half}
PRESETS = {"wide": {"ratio": 4, "drop": 0.1}, "slim": {"ratio": 2, "drop": 0.0}}


class Block(nn.Module):
    def __init__(self, dim, dtype="auto", preset="auto"):
        super().__init__()
        self.dtype = torch.get_default_dtype() if dtype == "auto" else DTYPES[dtype]
        self.ratio = 4 if preset == "auto" else PRESETS[preset]["ratio"]
        self.fc = nn.Linear(dim, dim * self.ratio, dtype=self.dtype)


class Model(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.first = Block(dim, dtype="half")
        self.second = Block(dim, preset="wide")
