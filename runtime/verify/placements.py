"""What each parallel layer is given in a run: the same on every tensor-parallel rank, or a share on each."""

from __future__ import annotations

import hashlib

import torch
from torch import nn

from .smallrun import SmallRun

_KINDS = ("ColumnParallelLinear", "RowParallelLinear")


class Inputs:
    """Watches the inputs of the parallel layers of all stages."""

    def __init__(self, run: SmallRun) -> None:
        self.run = run
        self.seen: dict[str, str] = {}
        self.has_all_channels: dict[str, bool] = {}
        self.handles = [
            module.register_forward_pre_hook(self._see)
            for stage in run.stages
            for module in stage.modules()
            if any(cls.__name__ in _KINDS for cls in type(module).__mro__)
        ]

    def _see(self, module: nn.Module, args: tuple) -> None:
        path, line = self.run.tracker.built.get(id(module), ("", 0))
        if path and args and isinstance(args[0], torch.Tensor):
            numbers = args[0].detach().float().contiguous().numpy()
            place = f"{path}:{line}"
            digest = hashlib.sha256(self.seen.get(place, "").encode() + numbers.tobytes())
            self.seen[place] = digest.hexdigest()
            self.has_all_channels[place] = args[0].shape[-1] == getattr(module, "input_size", None)

    def compared(self) -> dict[str, str]:
        """{file:line that builds a layer: "whole" or "split"}, of its channels; watches no longer."""
        for handle in self.handles:
            handle.remove()
        everywhere = self.run.from_tp_ranks(self.seen)
        # With sequence parallelism each rank may have tokens of its own, with all their channels.
        own_tokens = getattr(self.run.script.args, "sequence_parallel", False)
        return {
            place: "whole"
            if all(ranks.get(place) == digest for ranks in everywhere)
            or (own_tokens and self.has_all_channels[place])
            else "split"
            for place, digest in self.seen.items()
        }
