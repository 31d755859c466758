import torch
from megatron.core import parallel_state


def pick():
    rank = parallel_state.get_data_parallel_rank()
    torch.cuda.set_device(rank % torch.cuda.device_count())  # [device-of-wrong-axis]
