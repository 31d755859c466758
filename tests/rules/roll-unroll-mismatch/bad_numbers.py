import torch


def mix(x, attn):
    y = torch.roll(x, shifts=[-3, -6], dims=[1, 2])
    return torch.roll(attn(y), shifts=[3, 3], dims=[1, 2])  # [roll-unroll-mismatch]
