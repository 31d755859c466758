from torch import nn

from ice.oneblock import OneBlock


class IceDistributedFuser(nn.Module):
    def __init__(
        self,
        dim,
        depth,
        window_size=(2, 6, 12),  # [parameter-dropped]
        drop_path=0.0,  # [parameter-dropped]
        norm_layer=nn.LayerNorm,
        config=None,
    ):
        super().__init__()
        self.blocks = nn.ModuleList(
            OneBlock(style="IceDistributedBlock", dim=dim, config=config) for _ in range(depth)
        )
