import torch


def pick(rank, tp_rank):
    torch.cuda.set_device(tp_rank)
    torch.cuda.set_device(rank)
