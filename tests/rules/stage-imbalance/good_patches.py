"""The embedding of 96 channels costs as much as three blocks; a global part half a block."""

from torch import nn


class Embedding(nn.Module):
    def __init__(self, img_size, patch_size, in_chans, embed_dim):
        super().__init__()
        self.proj = nn.Conv2d(in_chans, embed_dim, patch_size, stride=patch_size)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class Fuser(nn.Module):
    def __init__(
        self, dim, input_resolution, num_local, num_global, num_heads=6, num_groups=32, window_size=(1, 6, 12), depth_local=2
    ):
        super().__init__()
        self.mix = nn.Linear(dim, dim)

    def forward(self, x):
        return self.mix(x)


class Reef_stage0(nn.Module):
    def __init__(self, img_size=(2041, 4320), patch_size=(6, 12), embed_dim=192, in_chans=96):
        super().__init__()
        self.embed = Embedding(img_size, patch_size, in_chans, embed_dim)
        self.block1 = Fuser(embed_dim, (1, 341, 360), num_local=1, num_global=1)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        return self.block1(self.embed(x))


class Reef_stage1(nn.Module):
    def __init__(self, img_size=(2041, 4320), patch_size=(6, 12), embed_dim=192):
        super().__init__()
        self.block2 = Fuser(2 * embed_dim, (1, 171, 180), num_local=2, num_global=2)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        return self.block2(self.input_tensor[0])
