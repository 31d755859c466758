from torch import nn

from fusers import OceanFuser


class Ocean_stage0(nn.Module):
    def __init__(self, img_size=(720, 1440), patch_size=(6, 12), dim=96, **kwargs):
        super().__init__()
        grid = (img_size[0] // patch_size[0], img_size[1] // patch_size[1])
        self.block1 = OceanFuser(dim=dim, input_resolution=grid, depth=2)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        x = self.block1(x)
        skip = x
        return x.contiguous(), skip


class Ocean_stage1(Ocean_stage0):
    def __init__(self, img_size=(720, 1440), patch_size=(6, 12), dim=96, **kwargs):
        super().__init__()
        half = [n // p // 2 for n, p in zip(img_size, patch_size)]
        self.block2 = OceanFuser(dim=2 * dim, input_resolution=(half[0], half[1]), depth=6)

    def forward(self, x=None):
        x, skip = self.input_tensor
        x = self.block2(self.downsample(x))
        return x, skip


class Ocean_stage2(Ocean_stage0):
    def forward(self, x=None):
        x, skip = self.input_tensor
        return self.recovery(x + skip)
