from torch import nn

from ice.onefuser import OneFuser


class Ice_stage0(nn.Module):
    def __init__(self, dim, use_tp, config=None):
        super().__init__()
        kind = "Distributed"
        self.typo = OneFuser(style="IceDistributdFuser", dim=dim, config=config)  # [unknown-module-style]
        self.text = OneFuser(style=f"Snow{kind}Fuser", dim=dim, config=config)  # [unknown-module-style]
        self.right = OneFuser(style=f"Ice{kind}Fuser", dim=dim, config=config)

    def forward(self, x):
        return self.right(x)
