from torch import nn

import ice.shapes


class IceDistributedFuser(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = ice.shapes.padded(dim)
