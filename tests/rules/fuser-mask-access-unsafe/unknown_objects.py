from torch import nn


class IceDistributedFuser(nn.Module):
    """Nothing of the tree makes the objects it is given."""

    def forward(self, obj):
        return obj.x * obj.mask
