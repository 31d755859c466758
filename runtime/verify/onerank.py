"""Where there is no original: the model itself on one tensor-parallel rank, which holds everything whole."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
import torch.distributed as dist
from torch import nn

from .passes import first_of
from .script import build_stage
from .smallrun import Failed, SmallRun
from .weights import cut_of, enlarge, shard

_GROUPS = (
    "_TENSOR_MODEL_PARALLEL_GROUP",
    "_MODEL_PARALLEL_GROUP",
    "_TENSOR_AND_DATA_PARALLEL_GROUP",
    "_TENSOR_AND_DATA_PARALLEL_GROUP_WITH_CP",
    "_TENSOR_AND_CONTEXT_PARALLEL_GROUP",
)


@contextlib.contextmanager
def alone(run: SmallRun) -> Iterator[None]:
    """Inside, Megatron and the script's flags answer as in a world of one tensor-parallel rank."""
    from megatron.core import parallel_state

    new = dict.fromkeys(_GROUPS, run.group_of_one) | {
        "_TENSOR_MODEL_PARALLEL_GLOBAL_RANKS": [run.rank],
        "_MPU_TENSOR_MODEL_PARALLEL_WORLD_SIZE": 1,
        "_MPU_TENSOR_MODEL_PARALLEL_RANK": 0,
    }
    flags = {"tensor_model_parallel_size": 1, "sequence_parallel": False}
    kept = {name: getattr(parallel_state, name) for name in new if hasattr(parallel_state, name)}
    kept_flags = {name: getattr(run.script.args, name) for name in flags if hasattr(run.script.args, name)}
    try:
        for name in kept:
            setattr(parallel_state, name, new[name])
        for name in kept_flags:
            setattr(run.script.args, name, flags[name])
        yield
    finally:
        for name, value in kept.items():
            setattr(parallel_state, name, value)
        for name, value in kept_flags.items():
            setattr(run.script.args, name, value)


def build(run: SmallRun) -> nn.Module | None:
    """The model on one rank; None where several stages hold it, or where it cannot be built so."""
    if run.count != 1 or run.plan.tp == 1:
        return None
    groups = [dist.new_group([rank]) for rank in range(run.plan.tp * run.plan.parts)]
    run.group_of_one = groups[run.rank]
    with alone(run):
        model = build_stage(run.script, 0, 1).float()
    forward = model.forward

    def inside(*args, **kwargs):
        with alone(run):
            return forward(*args, **kwargs)

    model.forward = inside
    run.is_one_rank = True
    run.notes.append("there is no original: the same model on one tensor-parallel rank stands for it")
    return model


@torch.no_grad()
def load(run: SmallRun) -> None:
    """Give the stage its shards of the whole weights, in the order in which its constructor laid them out."""
    [stage] = run.stages
    whole = dict(run.original.named_parameters())
    own = dict(stage.named_parameters())
    everywhere = run.from_tp_ranks({name: parameter.detach() for name, parameter in own.items()})
    before = {name: parameter.clone() for name, parameter in whole.items()}
    enlarge(run.original)
    cuts: dict[str, int | None] = {}
    for name, parameter in own.items():
        if name not in whole:
            continue
        dim = cut_of(parameter, whole[name], run.plan.tp)
        wanted = whole[name]
        parts = [ranks[name] for ranks in everywhere if name in ranks]
        if dim is not None and len(parts) == run.plan.tp:
            order = _arrangement(before[name], torch.cat(parts, dim), dim)
            if order is not None:
                run.orders[name] = order
                wanted = wanted.index_select(dim, order)
        part = shard(wanted, dim, parameter, run.tp_rank, run.plan.tp)
        if part.shape != parameter.shape:
            text = f"{name} is {list(parameter.shape)} here and {list(wanted.shape)} on one rank"
            run.add("parameters", text, 0, name.rpartition(".")[0], "parallel-linear-width-mismatch")
            continue
        parameter.copy_(part)
        cuts[name] = dim
    run.names.append({name: name for name in cuts})
    run.cuts.append(cuts)
    with alone(run):
        generator = torch.Generator().manual_seed(3)
        try:
            output = run.original(torch.randn(run.known["input"], generator=generator))
        except Exception as error:
            run.notes.append(
                f"the model does not run on one rank, so there is nothing to compare with: {error}"
            )
            raise Failed from error
    run.whole_output = tuple(first_of(output).shape)


def _arrangement(whole: torch.Tensor, joined: torch.Tensor, dim: int) -> torch.Tensor | None:
    """Which row of the whole each row of the joined shards is; None where they are other rows, or the same order."""
    rows = [row.contiguous().numpy().tobytes() for row in whole.unbind(dim)]
    places = {row: place for place, row in enumerate(rows)}
    found = [places.get(row.contiguous().numpy().tobytes()) for row in joined.unbind(dim)]
    order = [place for place in found if place is not None]
    if sorted(order) != list(range(len(rows))) or order == sorted(order):
        return None
    return torch.tensor(order)
