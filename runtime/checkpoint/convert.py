"""A checkpoint as a whole: put together from any layout, and cut for any other."""

from dataclasses import dataclass, field
from pathlib import Path

import torch

from ..errors import UserError
from .files import latest, rank_file, read_metadata, read_part
from .sharding import Cut, shard, unshard


@dataclass
class Whole:
    """A checkpoint without a layout.

    ``model``: weights by name. ``cuts`` of the sharded ones, ``stages`` that hold each. ``optimizer``: state by
    parameter name, empty where there is none.
    """

    model: dict[str, torch.Tensor] = field(default_factory=dict)
    cuts: dict[str, Cut] = field(default_factory=dict)
    stages: dict[str, list[int]] = field(default_factory=dict)
    optimizer: dict[str, dict[str, torch.Tensor]] = field(default_factory=dict)


def gather(root: Path) -> Whole:
    """Put the newest checkpoint in `root` together.

    Raises:
        UserError: there is none, it is damaged, or its ranks contradict each other.
    """
    folder = latest(root)
    if folder is None:
        raise UserError(f"no checkpoint in {root}")
    metadata = read_metadata(folder)
    layout = metadata.layout
    whole = Whole()
    for pipeline_rank in range(layout.pipeline):
        parts = [read_part(folder, rank_file(rank, pipeline_rank), metadata) for rank in range(layout.tensor)]
        _add_parts(whole, parts)
    return whole


def _add_parts(whole: Whole, parts: list[dict]) -> None:
    cuts = {name: tuple(cut) for name, cut in parts[0]["cuts"].items()}
    whole.cuts.update(cuts)
    for name in parts[0]["model"]:
        value = unshard([part["model"][name] for part in parts], cuts.get(name), name)
        if name in whole.model and not torch.equal(whole.model[name], value):
            raise UserError(
                f"{name} is held by two pipeline ranks with different values: rename it in one stage"
            )
        whole.model[name] = value
        whole.stages.setdefault(name, []).extend(parts[0]["stages"][name])
    for name in parts[0].get("optimizer", {}):
        states = [part["optimizer"][name] for part in parts]
        whole.optimizer[name] = {
            key: unshard(
                [state[key] for state in states], cuts.get(name) if value.ndim else None, f"{name} ({key})"
            )
            for key, value in states[0].items()
        }


def part_of(whole: Whole, held: set[int], tensor_rank: int, tensor_size: int) -> dict:
    """What the file of a rank would hold that has the stages `held`.

    Raises:
        UserError: a width does not divide.
    """
    stages = {name: [stage for stage in owners if stage in held] for name, owners in whole.stages.items()}
    names = [name for name, owners in stages.items() if owners]

    def cut(tensor: torch.Tensor, name: str) -> torch.Tensor:
        return shard(tensor, whole.cuts.get(name) if tensor.ndim else None, tensor_rank, tensor_size, name)

    part = {
        "model": {name: cut(whole.model[name], name) for name in names},
        "cuts": {name: whole.cuts[name] for name in names if name in whole.cuts},
        "stages": {name: stages[name] for name in names},
    }
    if whole.optimizer:
        part["optimizer"] = {
            name: {key: cut(value, name) for key, value in whole.optimizer[name].items()}
            for name in names
            if name in whole.optimizer
        }
    return part
