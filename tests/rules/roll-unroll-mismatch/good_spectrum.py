import torch


def centred(x, rows, columns):
    x = torch.roll(x, shifts=(rows, columns), dims=(1, 2))
    x = torch.fft.fft2(x)
    return torch.roll(x, shifts=(rows, columns), dims=(1, 2))
