from torch import nn


class HailDistributedMlp(nn.Module):  # [distributed-naming]
    def forward(self, x):
        return x
