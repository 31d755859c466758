"""What passes through the modules of a model: inputs, outputs and their gradients, by module path, in order."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field

import torch
from torch import nn


@dataclass
class Passed:
    """One run of one model.

    Args:
        forward: {(path, "in" or "out"): tensor}, in the order in which they came.
        backward: the same for gradients, in their order.
    """

    forward: dict[tuple[str, str], torch.Tensor] = field(default_factory=dict)
    backward: dict[tuple[str, str], torch.Tensor] = field(default_factory=dict)


class Watcher:
    """Watches the modules of one model, or of one stage."""

    def __init__(self, passed: Passed) -> None:
        self.passed = passed
        self.handles: list = []
        self.copies: dict[int, tuple[weakref.ref[torch.Tensor], int, torch.Tensor]] = {}

    def watch(self, root: nn.Module) -> None:
        """From here on; a module that runs several times counts with its first run."""
        for path, module in root.named_modules():
            if path:
                self.handles.append(module.register_forward_pre_hook(self._before(path), with_kwargs=True))
                self.handles.append(module.register_forward_hook(self._after(path)))

    def end(self) -> None:
        """Watch no longer."""
        for handle in self.handles:
            handle.remove()
        self.handles.clear()

    def _before(self, path: str):
        def hook(module, args, kwargs) -> None:
            self._take((path, "in"), _first((args, kwargs)))

        return hook

    def _after(self, path: str):
        def hook(module, args, output) -> None:
            self._take((path, "out"), _first(output))

        return hook

    def _take(self, key: tuple[str, str], tensor: torch.Tensor | None) -> None:
        if tensor is None or key in self.passed.forward:
            return
        self.passed.forward[key] = self._copy(tensor)
        if tensor.requires_grad:

            def keep(gradient) -> None:
                if key not in self.passed.backward:
                    self.passed.backward[key] = self._copy(gradient)

            tensor.register_hook(keep)

    def _copy(self, tensor: torch.Tensor) -> torch.Tensor:
        """The numbers as they are now; one copy of what a module gives and the next is given."""
        known = self.copies.get(id(tensor))
        if known is None or known[0]() is not tensor or known[1] != tensor._version:
            known = weakref.ref(tensor), tensor._version, tensor.detach().clone()
            self.copies[id(tensor)] = known
        return known[2]


def _first(value) -> torch.Tensor | None:
    if isinstance(value, torch.Tensor):
        return value if value.is_floating_point() else None
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, tuple | list):
        return next((t for t in map(_first, value) if t is not None), None)
    return None
