"""Let unmodified megatron-core run on CPUs.

megatron-core asks ``torch.cuda`` for the current device, allocates with ``device="cuda"`` and keeps its
random streams in the CUDA generator. ``install`` answers all three with the CPU. Nothing of megatron-core
itself changes but the two accessors of the generator state, which reach into C and cannot be answered
otherwise.
"""

import logging

import torch
from torch.overrides import TorchFunctionMode

_CPU = torch.device("cpu")


_NAMES = (str, torch.device)


def _to_cpu(value):
    if isinstance(value, _NAMES) and str(value).partition(":")[0] == "cuda":
        return "cpu" if isinstance(value, str) else _CPU
    return value


class _CudaMeansCpu(TorchFunctionMode):
    """Turns a CUDA device in the arguments of any torch function or tensor method into the CPU."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is torch.Tensor.cuda:
            return args[0]
        if kwargs:
            kwargs = {name: _to_cpu(value) for name, value in kwargs.items()}
            return func(*map(_to_cpu, args), **kwargs)
        return func(*map(_to_cpu, args))


class _NoFalseAlarm(logging.Filter):
    """Here the "GPU" stream is the CPU generator, so that it moves inside a fork is what is wanted."""

    def filter(self, record: logging.LogRecord) -> bool:
        return "CPU RNG state changed within GPU RNG context" not in record.getMessage()


_mode: _CudaMeansCpu | None = None


def install() -> None:
    """Make "cuda" mean the CPU in this process, for good. A second call does nothing.

    Call it before any model is built. The random streams of ``model_parallel_cuda_manual_seed`` (one shared
    by all tensor-parallel ranks, one per rank) then live in the CPU generator, so dropout and activation
    checkpointing behave as they do on GPUs.
    """
    global _mode
    if _mode is not None:
        return
    torch.cuda.current_device = lambda: _CPU
    torch.cuda.synchronize = lambda device=None: None
    torch.cuda.manual_seed = torch.manual_seed
    torch.cuda.get_rng_state = lambda device="cuda": torch.get_rng_state()
    torch.cuda.set_rng_state = lambda new_state, device="cuda": torch.set_rng_state(new_state)

    from megatron.core.tensor_parallel import random

    random._get_cuda_rng_state = lambda device="cuda", clone=False, graph_safe=False: torch.get_rng_state()
    random._set_cuda_rng_state = lambda new_state, device=-1, graph_safe=False: torch.set_rng_state(new_state)
    logging.getLogger(random.__name__).addFilter(_NoFalseAlarm())

    _mode = _CudaMeansCpu()
    _mode.__enter__()
