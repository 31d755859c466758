from torch.utils import checkpoint as torch_checkpoint


def checkpoint(function, *args):
    return torch_checkpoint.checkpoint(function, *args)
