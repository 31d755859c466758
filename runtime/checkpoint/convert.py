"""A checkpoint as a whole: put together from any layout, and spread over any other."""

from dataclasses import dataclass, field
from pathlib import Path

import torch

from ..errors import UserError
from ..pipeline.build import stages_of_chunk
from .files import (
    Layout,
    Metadata,
    checkpoint_folder,
    commit,
    latest,
    rank_file,
    read_metadata,
    read_part,
    start_writing,
    write_tensors,
)
from .sharding import Cut, shard, unshard


@dataclass
class Blueprint:
    """What a layout must know of a model. ``cuts`` of sharded parameters, ``stages`` that hold each name."""

    num_stages: int
    cuts: dict[str, Cut] = field(default_factory=dict)
    stages: dict[str, list[int]] = field(default_factory=dict)


@dataclass
class Whole:
    """A checkpoint without a layout. ``optimizer``: state by parameter name, empty where there is none."""

    model: dict[str, torch.Tensor]
    blueprint: Blueprint
    optimizer: dict[str, dict[str, torch.Tensor]] = field(default_factory=dict)
    iteration: int = 0
    consumed_samples: int = 0


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
    whole = Whole({}, Blueprint(layout.stages), {}, metadata.iteration, metadata.consumed_samples)
    for pipeline_rank in range(layout.pipeline):
        parts = [read_part(folder, rank_file(rank, pipeline_rank), metadata) for rank in range(layout.tensor)]
        _add_parts(whole, parts)
    return whole


def scatter(whole: Whole, layout: Layout, root: Path) -> Path:
    """Write `whole` to `root` as a checkpoint of `layout`. Returns its folder.

    Raises:
        UserError: the layout does not fit the model, or the checkpoint exists.
    """
    if layout.pipeline * layout.virtual > layout.stages:
        raise UserError(f"{layout.stages} stages cannot fill {layout}")
    folder = checkpoint_folder(root, whole.iteration)
    draft = start_writing(folder)
    files = {}
    for pipeline_rank in range(layout.pipeline):
        held = {
            stage
            for index in range(layout.virtual)
            for stage in stages_of_chunk(
                index * layout.pipeline + pipeline_rank, layout.pipeline * layout.virtual, layout.stages
            )
        }
        for tensor_rank in range(layout.tensor):
            name = rank_file(tensor_rank, pipeline_rank)
            files[name] = write_tensors(draft / name, _part(whole, held, tensor_rank, layout.tensor))
    commit(draft, folder, Metadata(whole.iteration, whole.consumed_samples, layout, files))
    return folder


def adopt_plain(plain: dict[str, torch.Tensor], blueprint: Blueprint) -> Whole:
    """A plain state dict as a whole checkpoint of the model that `blueprint` describes.

    Raises:
        UserError: their names differ.
    """
    for names, what in (
        (blueprint.stages.keys() - plain.keys(), "the plain checkpoint lacks"),
        (plain.keys() - blueprint.stages.keys(), "the staged model does not have"),
    ):
        if names:
            shown = ", ".join(sorted(names)[:5])
            raise UserError(f"{what} {shown}{f' and {len(names) - 5} more' if len(names) > 5 else ''}")
    return Whole(plain, blueprint)


def _add_parts(whole: Whole, parts: list[dict]) -> None:
    cuts = {name: tuple(cut) for name, cut in parts[0]["cuts"].items()}
    whole.blueprint.cuts.update(cuts)
    for name in parts[0]["model"]:
        value = unshard([part["model"][name] for part in parts], cuts.get(name), name)
        if name in whole.model and not torch.equal(whole.model[name], value):
            raise UserError(
                f"{name} is held by two pipeline ranks with different values: rename it in one stage"
            )
        whole.model[name] = value
        whole.blueprint.stages.setdefault(name, []).extend(parts[0]["stages"][name])
    for name in parts[0].get("optimizer", {}):
        states = [part["optimizer"][name] for part in parts]
        whole.optimizer[name] = {
            key: unshard(
                [state[key] for state in states], cuts.get(name) if value.ndim else None, f"{name} ({key})"
            )
            for key, value in states[0].items()
        }


def _part(whole: Whole, held: set[int], tensor_rank: int, tensor_size: int) -> dict:
    blueprint = whole.blueprint
    stages = {name: [stage for stage in owners if stage in held] for name, owners in blueprint.stages.items()}
    names = [name for name, owners in stages.items() if owners]

    def cut(tensor: torch.Tensor, name: str) -> torch.Tensor:
        return shard(
            tensor, blueprint.cuts.get(name) if tensor.ndim else None, tensor_rank, tensor_size, name
        )

    part = {
        "model": {name: cut(whole.model[name], name) for name in names},
        "cuts": {name: blueprint.cuts[name] for name in names if name in blueprint.cuts},
        "stages": {name: stages[name] for name in names},
    }
    if whole.optimizer:
        part["optimizer"] = {
            name: {key: cut(value, name) for key, value in whole.optimizer[name].items()}
            for name in names
            if name in whole.optimizer
        }
    return part
