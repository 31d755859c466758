"""Save and load the state of a run: weights, optimizer, random streams, place in the data."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
from torch import nn

from ..errors import UserError
from ..pipeline.build import named_stages
from ..pipeline.chunk import PipelineChunk
from ..process_groups import wait_for_all
from .convert import gather, part_of
from .files import (
    Layout,
    Metadata,
    checkpoint_folder,
    commit,
    latest,
    rank_file,
    read_metadata,
    read_part,
    read_tensors,
    start_writing,
    write_tensors,
)
from .sharding import cuts_of, shard

if TYPE_CHECKING:
    from ..training.optimizer import MasterWeightAdamW


@dataclass
class Progress:
    """How far a run has come; its fields are explained at `Metadata`."""

    iteration: int = 0
    consumed_samples: int = 0
    samples: int = 0
    validation: float | None = None
    row: dict[str, float] | None = None


def save_checkpoint(
    root: Path,
    progress: Progress,
    chunks: Sequence[PipelineChunk],
    optimizer: "MasterWeightAdamW",
) -> Path:
    """Write a checkpoint of all ranks to `root`; call it on every rank. Returns its folder.

    Raises:
        UserError: it exists, or the disk does not take it.
    """
    from megatron.core import parallel_state

    folder = checkpoint_folder(root, progress.iteration)
    drafts = [None]
    if dist.get_rank() == 0:
        drafts = [_on_disk(root, start_writing, folder)]
    dist.broadcast_object_list(drafts, src=0, device=_object_device())
    streams = [None] * parallel_state.get_data_parallel_world_size()
    dist.all_gather_object(streams, _random_state(), group=parallel_state.get_data_parallel_group())
    written = {}
    if parallel_state.get_data_parallel_rank(with_context_parallel=True) == 0:
        name = rank_file(
            parallel_state.get_tensor_model_parallel_rank(), parallel_state.get_pipeline_model_parallel_rank()
        )
        weights, cuts, owners = {}, {}, {}
        for number, stage in named_stages(chunks):
            cuts.update(cuts_of(stage))
            for key, value in stage_state(stage).items():
                weights[key] = value
                owners.setdefault(key, []).append(number)
        content = {"model": weights, "cuts": cuts, "stages": owners}
        content |= {"optimizer": optimizer.state_dict(), "random": streams}
        written[name] = _on_disk(root, write_tensors, Path(drafts[0]) / name, content)
    all_written = [None] * dist.get_world_size()
    dist.all_gather_object(all_written, written)
    if dist.get_rank() == 0:
        files = {name: entry for part in all_written for name, entry in part.items()}
        metadata = Metadata(layout=layout_of(chunks), files=files, **asdict(progress))
        _on_disk(root, commit, drafts[0], folder, metadata)
    wait_for_all()
    return folder


def load_checkpoint(root: Path, chunks: Sequence[PipelineChunk], optimizer: "MasterWeightAdamW") -> Progress:
    """Take up the newest checkpoint in `root`; call it on every rank.

    It may have been written at another layout; each rank then reads all of it and keeps its share. The random streams
    are set, too, unless the layout is another.

    Raises:
        UserError: none is there, it is damaged, or its weights are those of another model.
    """
    from megatron.core import parallel_state

    found = [latest(root)]
    dist.broadcast_object_list(found, src=0, device=_object_device())
    folder = found[0]
    if folder is None:
        raise UserError(f"no checkpoint in {root}: leave --load out, or give the folder that --save wrote to")
    metadata = read_metadata(folder)
    layout = layout_of(chunks)
    if metadata.layout.stages != layout.stages:
        raise UserError(
            f"{folder} holds a model of {metadata.layout.stages} stages, this one has {layout.stages}: to take its "
            f"weights alone, use --pretrained-checkpoint {folder}"
        )
    tensor_rank = parallel_state.get_tensor_model_parallel_rank()
    if metadata.layout == layout:
        name = rank_file(tensor_rank, parallel_state.get_pipeline_model_parallel_rank())
        content = read_part(folder, name, metadata)
    else:
        held = {number for number, _ in named_stages(chunks)}
        content = part_of(gather(folder), held, tensor_rank, layout.tensor)
    wanted = {key for _, stage in named_stages(chunks) for key in stage_state(stage)}
    if unknown := content["model"].keys() - wanted:
        raise UserError(f"{folder} holds weights this model has not: {_some(unknown)}")
    for _, stage in named_stages(chunks):
        _load_stage(stage, content["model"], folder)
    optimizer.copy_from_weights()
    if "optimizer" in content:
        optimizer.load_state_dict(content["optimizer"])
    streams = content.get("random", [])
    if len(streams) == parallel_state.get_data_parallel_world_size():
        _set_random_state(streams[parallel_state.get_data_parallel_rank()])
    return Progress(metadata.iteration, metadata.consumed_samples, metadata.samples, row=metadata.row)


def load_weights(path: Path, chunks: Sequence[PipelineChunk]) -> None:
    """Load this rank's share of the weights of a plain state dict, or of the newest checkpoint in a folder.

    Raises:
        UserError: names or shapes are not those of the model.
    """
    from megatron.core import parallel_state

    plain = gather(path).model if path.is_dir() else read_plain(path)
    rank = parallel_state.get_tensor_model_parallel_rank()
    size = parallel_state.get_tensor_model_parallel_world_size()
    for _, stage in named_stages(chunks):
        cuts = cuts_of(stage)
        wanted = {name: plain[name] for name in stage_state(stage) if name in plain}
        _load_stage(
            stage,
            {name: shard(whole, cuts.get(name), rank, size, name) for name, whole in wanted.items()},
            path,
        )
    mine = [name for _, stage in named_stages(chunks) for name in stage_state(stage)]
    every = [None] * parallel_state.get_pipeline_model_parallel_world_size()
    dist.all_gather_object(every, mine, group=parallel_state.get_pipeline_model_parallel_group())
    if unknown := plain.keys() - {name for names in every for name in names}:
        raise UserError(f"{path} holds weights this model has not: {_some(unknown)}")


def read_plain(path: Path) -> dict[str, torch.Tensor]:
    """The state dict in a plain checkpoint: the dict itself, or its entry "model" or "state_dict".

    Raises:
        UserError: there is none.
    """
    content = read_tensors(path)
    for key in ("model", "state_dict"):
        if isinstance(content, dict) and isinstance(content.get(key), dict):
            content = content[key]
    if not isinstance(content, dict) or not all(
        isinstance(value, torch.Tensor) for value in content.values()
    ):
        raise UserError(f"{path} is not a state dict of tensors")
    return content


def stage_state(stage: nn.Module) -> dict[str, torch.Tensor]:
    """Weights and persistent buffers of a stage, by name. Layers' ``_extra_state`` entries hold no
    tensors.
    """
    return {name: value for name, value in stage.state_dict().items() if isinstance(value, torch.Tensor)}


def layout_of(chunks: Sequence[PipelineChunk]) -> Layout:
    """The layout of this run."""
    from megatron.core import parallel_state

    return Layout(
        parallel_state.get_tensor_model_parallel_world_size(),
        parallel_state.get_pipeline_model_parallel_world_size(),
        len(chunks),
        chunks[0].num_stages,
    )


@torch.no_grad()
def _load_stage(stage: nn.Module, values: dict[str, torch.Tensor], source: Path) -> None:
    targets = stage_state(stage)
    if missing := targets.keys() - values.keys():
        raise UserError(f"{source} lacks weights of {type(stage).__name__}: {_some(missing)}")
    for name, target in targets.items():
        if values[name].shape != target.shape:
            raise UserError(
                f"{source}: {name} has shape {list(values[name].shape)}, the model wants "
                f"{list(target.shape)}: is it "
                "of another grid or width?"
            )
        target.copy_(values[name])


def _some(names) -> str:
    names = sorted(names)
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _on_disk(root: Path, action, *arguments):
    try:
        return action(*arguments)
    except OSError as error:
        raise UserError(f"cannot write a checkpoint to {root}: {error.strerror or error}") from error


def _random_state() -> dict:
    from megatron.core.tensor_parallel import get_cuda_rng_tracker

    tracker = {name: state.cpu() for name, state in get_cuda_rng_tracker().get_states().items()}
    return {"cpu": torch.get_rng_state(), "cuda": torch.cuda.get_rng_state().cpu(), "tracker": tracker}


def _set_random_state(state: dict) -> None:
    from megatron.core.tensor_parallel import get_cuda_rng_tracker

    torch.set_rng_state(state["cpu"])
    torch.cuda.set_rng_state(state["cuda"])
    get_cuda_rng_tracker().set_states(state["tracker"])


def _object_device() -> torch.device:
    return torch.device(torch.cuda.current_device()) if dist.get_backend() == "nccl" else torch.device("cpu")
