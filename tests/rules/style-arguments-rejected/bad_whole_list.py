from torch import nn


class WindFuser(nn.Module):
    def __init__(self, dim, num_heads=8):
        super().__init__()
        self.head_dim = dim // num_heads

    def forward(self, x):
        return x


class WindPatches(nn.Module):
    def __init__(self, dim, patch_size=4):
        super().__init__()


_REGISTRY = {"WindFuser": WindFuser, "WindPatches": WindPatches}


class OneModule(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.module = _REGISTRY[style](**kwargs)


class Wind_stage0(nn.Module):
    def __init__(self, dim=96, num_heads=(4, 8), patch_size=(2, 2)):
        super().__init__()
        self.patches = OneModule(style="WindPatches", dim=dim, patch_size=patch_size)
        self.first = OneModule(style="WindFuser", dim=dim, num_heads=num_heads[0])
        self.second = OneModule(style="WindFuser", dim=dim, num_heads=num_heads)  # [style-arguments-rejected]
