import torch
from megatron.core import parallel_state

from .fsdp2 import clip


def clip_grad_norm(model, mode, max_norm):
    assert parallel_state.model_parallel_is_initialized()
    if mode == "fsdp2":
        return clip(model, max_norm)
    return torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
