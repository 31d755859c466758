import torch
from megatron.core import parallel_state


def window_mask(resolution, window, shift):
    levels, row, column = resolution
    img_mask = torch.zeros((1, levels, row, column, 1))
    pl_slices = (slice(0, -window[0]), slice(-window[0], -shift[0]), slice(-shift[0], None))
    row_slices = (slice(0, -window[1]), slice(-window[1], -shift[1]), slice(-shift[1], None))
    column_slices = (slice(0, -window[2]), slice(-window[2], -shift[2]), slice(-shift[2], None))
    cnt = 0
    for pl in pl_slices:
        for row in row_slices:
            for column in column_slices:
                img_mask[:, pl, row, column, :] = cnt
                cnt += 1
    return img_mask
