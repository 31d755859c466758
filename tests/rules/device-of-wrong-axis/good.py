import os

import torch
import torch.distributed as dist


def pick():
    torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())


def local():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
