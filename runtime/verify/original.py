"""What the original model takes, gives, holds and costs, as far as the meta device can tell."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch import nn

from . import costs
from .device import undecided
from .plan import Plan
from .script import Script, build_original
from .tracking import shown

if TYPE_CHECKING:
    from .dryrun import DryRun


def look(role: DryRun, script: Script) -> dict:
    """What the original takes, gives and holds, as far as it can be told."""
    read = role.workplace.files
    found: dict = {
        "modules": installed_modules(),
        "files": [dict(data) for data in read.read],
        "used": sorted(read.used),
        "num_stages": script.num_stages or role.plan.pp,
        "is_16_bit": role.dtype.itemsize == 2,
    }
    if role.first is None:
        return found
    role.number = -1

    def make() -> nn.Module | None:
        with torch.device("meta"):
            return build_original(role.workplace, role.first)

    before = len(role.findings)
    original = role.guarded(make)
    for finding in role.findings[before:]:
        role.findings.remove(finding)
        role.notes.append(
            f"the original could not be built ({finding.message}; {finding.path}:{finding.line})"
        )
    if original is None:
        if role.plan.input_shape:  # the label is taken to be of the same shape, as far as anybody can tell
            found["input"], found["outputs"] = role.plan.input_shape, [role.plan.input_shape]
        return found
    original = original.to("meta")
    found["parameters"] = {name: tuple(p.shape) for name, p in original.named_parameters()}
    arguments = role.tracker.arguments.get(id(original), {})
    own, refused = list(original.parameters()), []
    for shape in candidate_shapes(role.plan, arguments):
        flops, kept = costs.counter(), costs.Kept(own)
        try:
            with flops, kept.watching():
                output = original(torch.empty(shape, device="meta"))
        except Exception as error:
            refused.append(f"{type(error).__name__}: {' '.join(str(error).split())}{_place(role, error)}")
            if undecided(error):
                found["refused"] = refused[-1]
                break
            continue
        outputs = output if isinstance(output, tuple | list) else (output,)
        found["input"], found["outputs"] = shape, [tuple(t.shape) for t in outputs]
        found["flops"], found["kept"] = flops.get_total_flops(), kept.bytes
        break
    else:
        found["refused"] = _rarest(refused)
    return found


def _place(role: DryRun, error: Exception) -> str:
    """Where in the user's files an error came from, as the end of a sentence."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if role.tracker.owns(f.filename)]
    return f" at {shown(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""


def _rarest(texts: list[str]) -> str:
    """Of many refusals, the one of its own kind: wrong numbers of channels are refused alike, the right one is not."""
    kinds = [re.sub(r"\d+", "0", text) for text in texts]
    return min(texts, key=lambda text: kinds.count(re.sub(r"\d+", "0", text)), default="")


def installed_modules() -> list[str]:
    """Installed packages that the user's code has imported: the parent imports them once for all other processes."""
    return [
        name
        for name, module in sys.modules.items()
        if "site-packages" in (getattr(module, "__file__", None) or "") and not name.startswith("onescience")
    ]


def candidate_shapes(plan: Plan, arguments: dict) -> Iterator[tuple[int, ...]]:
    """What the original may take: (batch, channels, rows, columns), as told or tried."""
    if plan.input_shape:
        yield plan.input_shape
        return
    size = next(
        (arguments[key] for key in ("img_size", "image_size", "input_size") if key in arguments), None
    )
    if isinstance(size, int):
        size = (size, size)
    if size is None or not all(type(side) is int for side in size):
        return
    channels = [arguments[key] for key in ("in_chans", "in_channels", "in_dim") if key in arguments]
    for count in [*channels, *range(1, 257)]:
        if type(count) is int:
            yield (1, count, *size)
