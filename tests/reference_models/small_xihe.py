"""A small Xihe, plain and in stages, for the tests."""

import torch

SMALL = {
    "img_size": (45, 96),
    "patch_size": (2, 4),
    "window_size": (3, 4),
    "embed_dim": 16,
    "num_heads": (2, 4, 4, 4, 2),
    "in_chans": 6,
    "out_chans": 4,
    "num_groups": 4,
}


def make_mask(img_size, seed=0):
    """Continents of a few patches, with straight and broken coasts: (Y, X) bool, True for ocean."""
    generator = torch.Generator().manual_seed(seed)
    coarse = torch.rand(1, 1, img_size[0] // 7 + 1, img_size[1] // 9 + 1, generator=generator)
    return torch.nn.functional.interpolate(coarse, size=img_size, mode="bilinear")[0, 0] > 0.45
