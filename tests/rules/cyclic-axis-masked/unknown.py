import torch
from megatron.core import parallel_state


def window_mask(resolution, window, shift):
    levels, lat, lon = resolution
    img_mask = torch.zeros((1, levels, lat, lon, 1))
    pl_slices = (slice(0, -window[0]), slice(-window[0], -shift[0]), slice(-shift[0], None))
    lat_slices = (slice(0, -window[1]), slice(-window[1], -shift[1]), slice(-shift[1], None))
    lon_slices = cut(window[2], shift[2])
    cnt = 0
    for pl in pl_slices:
        for lat in lat_slices:
            for lon in lon_slices:
                img_mask[:, pl, lat, lon, :] = cnt
                cnt += 1
    return img_mask
