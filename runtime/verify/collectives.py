"""Every collective that a rank enters, in order."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

from .processes import say_doing
from .tracking import Tracker

_NAMES = (
    "all_reduce all_gather all_gather_into_tensor _all_gather_base reduce_scatter reduce_scatter_tensor "
    "_reduce_scatter_base broadcast reduce gather scatter all_to_all all_to_all_single barrier "
    "all_gather_object broadcast_object_list"
).split()

_MESSAGES = ("send", "recv", "batch_isend_irecv")  # torch tells isend and irecv by what they are


@dataclass(frozen=True)
class Call:
    """One collective: its name, the ranks of its group, shape and dtype of its first tensor, and who called it."""

    name: str
    group: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: str
    path: str
    line: int

    def same(self, other: Call) -> bool:
        """Whether both can be one collective."""
        return (self.name, self.shape, self.dtype) == (other.name, other.shape, other.dtype)

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.path else "a comparison of this command"
        return f"{self.name} of {list(self.shape)} {self.dtype} at {place}"


class Recorder:
    """Puts itself in front of the collectives of torch, and of messages from rank to rank outside of modules."""

    def __init__(self, tracker: Tracker) -> None:
        self.tracker = tracker
        self.calls: list[Call] = []
        self.messages: list[tuple[str, str, int]] = []

    def install(self) -> None:
        """From here on, in torch and in every module that took a function over by name."""
        replaced = {}
        for name in _NAMES:
            function = getattr(dist, name, None)
            if function is not None:
                replaced[id(function)] = (name, function, self._recording(name, function))
        for name in _MESSAGES:
            function = getattr(dist, name)
            replaced[id(function)] = (name, function, self._noting(name, function))
        for module in list(sys.modules.values()):
            if not getattr(module, "__name__", "").startswith(("torch.distributed", "megatron")):
                continue
            for attribute, value in list(vars(module).items()):
                if id(value) in replaced and module is not distributed_c10d:
                    setattr(module, attribute, replaced[id(value)][2])

    def _noting(self, name: str, function):
        def message(*args, **kwargs):
            if not self.tracker.running:
                self.messages.append((name, *self.caller(2)))
            return function(*args, **kwargs)

        return message

    def _recording(self, name: str, function):
        def collective(*args, **kwargs):
            group = kwargs.get("group")
            if group is None:
                group = next((arg for arg in args if isinstance(arg, dist.ProcessGroup)), None)
            ranks = tuple(dist.get_process_group_ranks(group or dist.group.WORLD))
            if len(ranks) > 1:
                tensor = _first_tensor((args, kwargs))
                shape = tuple(tensor.shape) if tensor is not None else ()
                dtype = str(tensor.dtype).removeprefix("torch.") if tensor is not None else ""
                call = Call(name, ranks, shape, dtype, *self.caller(3))
                self.calls.append(call)
                say_doing(str(call))
            result = function(*args, **kwargs)
            say_doing("")
            return result

        return collective

    def caller(self, depth: int) -> tuple[str, int]:
        """The line of the user's tree that called, `depth` frames above."""
        frame = sys._getframe(depth)
        while frame is not None:
            if self.tracker.owns(frame.f_code.co_filename):
                return frame.f_code.co_filename, frame.f_lineno
            frame = frame.f_back
        return "", 0


def _first_tensor(value) -> torch.Tensor | None:
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, tuple | list):
        return next((t for t in map(_first_tensor, value) if t is not None), None)
    return None
