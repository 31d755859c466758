"""Try tile sizes, warps and pipeline stages of the attention kernels; prints milliseconds, fastest first.

python -m benchmarks.gpu.tune
"""

import itertools
import subprocess
import sys
from functools import partial

import torch

from onescience_check.reference_models.modules.attention import window_kernels as kernels
from onescience_check.reference_models.modules.attention import window_op as op
from onescience_check.reference_models.modules.attention.windows import WindowGrid

from . import measure, speed

CHOICES = [
    (*shape, stages)
    for shape, stages in itertools.product([(16, 1), (16, 2), (32, 2), (32, 4), (64, 4)], (2, 3, 4))
]


def tensors(sizes: dict):
    """Random qkv, bias, upstream gradient and the grid of a block."""
    grid = WindowGrid(sizes["input_resolution"], sizes["window_size"], sizes.get("shift_size", (0, 0, 0)))
    tokens, heads = grid.resolution[0] * grid.resolution[1] * grid.resolution[2], sizes["num_heads"]
    qkv, upstream = (
        torch.randn(1, tokens, channels, device="cuda").bfloat16()
        for channels in (3 * sizes["dim"], sizes["dim"])
    )
    pairs = (1, grid.window_types * heads, grid.window_tokens, grid.window_tokens)
    return qkv, torch.randn(pairs, device="cuda").bfloat16(), upstream, grid


def time_choice(choice, sizes: dict) -> dict[str, float]:
    """Milliseconds of each kernel with this choice."""
    for name in op.LAUNCH:
        op.LAUNCH[name] = choice
    qkv, bias, upstream, grid = tensors(sizes)
    out, lse = op.fused(qkv, bias, [*grid.resolution, *grid.window, *grid.shift])
    delta, grad_qkv, grad_bias = (torch.empty_like(tensor) for tensor in (lse, qkv, bias))
    calls = {
        "forward": (kernels.forward_kernel, (qkv, bias, out, lse)),
        "query": (
            kernels.query_gradient_kernel,
            (qkv, bias, out, upstream, lse, delta, grad_qkv, grad_bias),
        ),
        "key": (kernels.key_gradient_kernel, (qkv, bias, upstream, lse, delta, grad_qkv)),
    }
    return {
        name: measure.milliseconds(partial(op._launch, kernel, name, arguments, bias, grid))[0]
        for name, (kernel, arguments) in calls.items()
    }


def main() -> None:
    # Compilers run side by side; the kernels stay in Triton's cache for the timing, which is done one by one.
    command = [sys.executable, "-m", "benchmarks.gpu.tune"]
    for process in [subprocess.Popen([*command, *map(str, choice)]) for choice in CHOICES]:
        process.wait()
    for label, sizes in speed.BLOCKS.items():
        if "shifted" in label:
            continue
        times = {}
        for choice in CHOICES:
            try:
                times[choice] = time_choice(choice, sizes)
            except Exception as error:  # a choice may need more shared memory than there is
                print(choice, type(error).__name__, flush=True)
        for name in op.LAUNCH:
            ranking = sorted(times, key=lambda choice: times[choice][name])
            print(
                label, name, [(choice, round(times[choice][name], 3)) for choice in ranking[:7]], flush=True
            )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        time_choice(tuple(map(int, sys.argv[1:])), speed.FINE)
    else:
        main()
