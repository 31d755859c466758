"""Timing, ceilings, and the floor: operations and bytes that a block cannot do without."""

import math
import statistics
import warnings
from collections.abc import Callable

import torch


def milliseconds(action: Callable, repeats: int = 10, rounds: int = 3) -> tuple[float, float]:
    """Time of ``action`` on the GPU: median of ``rounds``, and their spread as a share of it.

    The calls of a round follow each other without a wait, as the steps of a training do.
    """
    for _ in range(3):
        action()
    times = []
    for _ in range(rounds):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(repeats):
            action()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / repeats)
    median = statistics.median(times)
    return median, (max(times) - min(times)) / median


def waits_of_host(action: Callable) -> int:
    """How often ``action`` makes the host wait for the GPU."""
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            action()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return sum("synchroniz" in str(warning.message) for warning in caught)


def peak_gib(action: Callable) -> float:
    """Most memory that tensors took during ``action``, in GiB, what was there before included."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    action()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() / 2**30


def ceilings() -> dict[str, float]:
    """bf16 matmul rate in TFLOP/s (8192^3, random data) and copy bandwidth in TB/s (read plus written)."""
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    matmul, _ = milliseconds(lambda: a @ b, repeats=20)
    source = torch.randn(2**30, device="cuda")
    target = torch.empty_like(source)
    copy, _ = milliseconds(lambda: target.copy_(source), repeats=20)
    return {"matmul_tflops": 2 * 8192**3 / matmul / 1e9, "copy_tbps": 2 * source.nbytes / copy / 1e9}


def block_floor(grid, dim: int) -> dict[str, float]:
    """Work of one block, forward and backward, one sample: TFLOP, and the fewest GB moved in bf16.

    FLOPs: 2 per multiply-add, three times forward (forward, gradient of the input, of the weight); attention
    counts true pairs once in forward and twice in backward, not what a kernel recomputes. Bytes: the kernels
    of a block are a matrix product or attention each, and what lies between two of them can ride along. So
    each input and output of a product, of attention and of its gradients is moved once:
    forward  x, qkv (1 + 3), attention (3 + 1), projection (1 + 1 + residual 1), fc1 (1 + 4), fc2 (4 + 1 + 1)
    backward two products per linear layer, (dy + w -> dx) and (dy, x -> dw), attention (3 + 1 + 1 + 3).
    """
    tokens = math.prod(grid.resolution)
    linear = 2 * 12 * dim * dim * tokens
    attention = 2 * 2 * math.prod(grid.padded) * grid.window_tokens * dim
    forward = (1 + 3) + (3 + 1) + (1 + 1 + 1) + (1 + 4) + (4 + 1 + 1)
    backward = (1 + 4 + 1 + 4) + (4 + 1 + 4 + 1) + (1 + 1 + 1 + 1) + (3 + 1 + 1 + 3) + (3 + 1 + 3 + 1)
    return {
        "tflop": 3 * (linear + attention) / 1e12,
        "gigabytes": (forward + backward) * tokens * dim * 2 / 1e9,
    }


def kernel_table(action: Callable, rows: int = 25) -> dict:
    """The kernels of ``action`` that take longest (name, milliseconds, calls), and of all kernels together the number
    and the milliseconds.
    """
    from torch.profiler import ProfilerActivity, profile

    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as records:
        action()
        torch.cuda.synchronize()
    kernels = [event for event in records.key_averages() if event.self_device_time_total > 0]
    kernels.sort(key=lambda event: -event.self_device_time_total)
    return {
        "kernel_calls": sum(event.count for event in kernels),
        "kernel_ms": sum(event.self_device_time_total for event in kernels) / 1e3,
        "kernels": [
            {"kernel": event.key[:90], "ms": event.self_device_time_total / 1e3, "calls": event.count}
            for event in kernels[:rows]
        ],
    }
