from torch import nn


class IceDistributedAttention(nn.Module):
    def forward(self, x, plan, limit):
        if plan.any() or limit.max() > 4:
            x = 2 * x
        return x
