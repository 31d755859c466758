from torch import nn

from ice.oneblock import OneBlock


class IceFuser(nn.Module):
    def __init__(self, dim, depth, window_size=(2, 6, 12), drop_path=0.0, norm_layer=nn.LayerNorm):
        super().__init__()
        self.blocks = nn.ModuleList(
            OneBlock(
                style="IceBlock", dim=dim, window_size=window_size,
                drop_path=drop_path[i] if isinstance(drop_path, list) else drop_path,
            )
            for i in range(depth)
        )
