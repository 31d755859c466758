from torch import nn


class Expert(nn.Module):
    def load(self, weight, device):
        self.weight = weight.to(device)

    def forward(self, x):
        return x @ self.weight


class DistributedExperts(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.experts = [Expert() for _ in range(count)]

    def load(self, weights, device):
        for index, weight in enumerate(weights):
            self.experts[index].load(weight, device)

    def forward(self, x):
        for expert in self.experts:
            x = expert(x)
        return x
