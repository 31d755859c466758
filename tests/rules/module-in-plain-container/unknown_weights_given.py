from torch import nn


class Layer(nn.Module):
    def __init__(self, prefix, weights):
        super().__init__()
        self.weight = nn.Parameter(weights.get_tensor(f"{prefix}.weight"), requires_grad=False)

    def forward(self, x):
        return x @ self.weight


class DistributedEncoder(nn.Module):
    def __init__(self, depth, weights):
        super().__init__()
        self.layers = [Layer(prefix=f"layers.{i}", weights=weights) for i in range(depth)]

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
