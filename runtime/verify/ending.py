"""What a step ended in: its loss, messages that it sent by itself, windows that it left rolled."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import torch

from .tracking import describe, shown

if TYPE_CHECKING:
    from .onestage import Run


def by_hand(run: Run, before: int) -> None:
    """Messages of the step itself: the schedule knows nothing of them."""
    for name, path, line in run.role.recorder.messages[before:]:
        if run.count > 1 and path:
            text = (
                f"the step calls {name} itself: the other side waits for what the schedule sends, and both wait "
                "for ever"
            )
            run.add("collectives", text, "p2p-in-forward-step", place=(shown(path), line))
            return


def rolled(run: Run) -> None:
    for roll, text in run.role.rolls.not_undone():
        path = run.role.tracker.names.get(id(roll.module), "")
        around = run.role.tracker.places_around(run.stage, path)
        cls = type(roll.module).__name__
        place = (shown(roll.place[0]), roll.place[1])
        run.add("numbers", text, "roll-unroll-mismatch", path, cls, place, around)
        return


def loss(run: Run, output, loss_func) -> list[torch.Tensor]:
    outputs = output if isinstance(output, tuple | list) else (output,)
    tensors = [t for t in outputs if isinstance(t, torch.Tensor)]
    if loss_func is None:
        return tensors
    returned = loss_func(output)
    if not isinstance(returned, tuple | list) or len(returned) not in (2, 3):
        run.add(
            "data",
            f"loss_func returns {describe([returned])}, not (loss, num_tokens, report)",
            "loss-return-contract",
        )
        return tensors
    loss = returned[0]
    tokens = returned[1] if len(returned) == 3 else None
    if isinstance(tokens, torch.Tensor) and tokens.is_floating_point():
        run.add(
            "data",
            f"loss_func returns num_tokens as {tokens.dtype}: the schedule adds them to a whole number, and fails",
            "loss-return-contract",
            place=code_of(loss_func),
        )
    if loss.numel() != 1:
        run.add(
            "data",
            f"loss_func returns a loss of shape {list(loss.shape)}: it must be one number",
            "loss-return-contract",
        )
    return [loss]


def code_of(function) -> tuple[str, int] | None:
    """Where a function is written, a partial one, too."""
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(function, "__code__", None)
    return (shown(code.co_filename), code.co_firstlineno) if code is not None else None
