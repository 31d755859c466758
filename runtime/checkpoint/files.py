"""The folder of checkpoints: what is in it, and how one is added without ever leaving half of one.

    SAVE/iter_0000100/metadata.json       iteration, layout, size and checksum of each file
    SAVE/iter_0000100/tp0_pp0.pt ...      weights and optimizer state of one rank

A checkpoint is written to a hidden folder beside its place, flushed to disk, and renamed. The rename is the
commit: a folder named ``iter_*`` is complete, whenever a process died.
"""

import json
import os
import re
import shutil
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from ..errors import UserError

_FORMAT = 1
_NAME = re.compile(r"iter_(\d{7,})")


@dataclass(frozen=True)
class Layout:
    """How the model is spread over ranks. ``virtual``: model chunks per pipeline rank."""

    tensor: int
    pipeline: int
    virtual: int
    stages: int

    def __str__(self) -> str:
        interleaved = f" x {self.virtual} chunks" if self.virtual > 1 else ""
        return f"tensor-parallel {self.tensor} x pipeline-parallel {self.pipeline}{interleaved}"


@dataclass(frozen=True)
class Metadata:
    """What metadata.json says. ``files``: size in bytes and CRC-32 by file name.

    ``samples`` are those of the training data, 0 if unknown; ``validation`` is the loss there, None if unknown;
    ``row`` is what loss.csv was told of this iteration, None if unknown.
    """

    iteration: int
    consumed_samples: int
    layout: Layout
    files: dict[str, tuple[int, int]]
    samples: int = 0
    validation: float | None = None
    row: dict[str, float] | None = None


def rank_file(tensor_rank: int, pipeline_rank: int) -> str:
    """File name of one rank's part."""
    return f"tp{tensor_rank}_pp{pipeline_rank}.pt"


def checkpoint_folder(root: Path, iteration: int) -> Path:
    """Where the checkpoint of `iteration` is, or will be."""
    return root / f"iter_{iteration:07d}"


def latest(root: Path) -> Path | None:
    """The newest complete checkpoint in `root`, or `root` itself if it is one."""
    if (root / "metadata.json").is_file():
        return root
    if not root.is_dir():
        return None
    found = [(int(match[1]), path) for path in root.iterdir() if (match := _NAME.fullmatch(path.name))]
    return max(found)[1] if found else None


def delete_old(root: Path, last: int, best: int) -> None:
    """Delete the checkpoints in `root` but the newest `last`, and the `best` with the lowest validation loss."""
    folders = sorted(path for path in root.iterdir() if _NAME.fullmatch(path.name))
    losses = {path: read_metadata(path).validation for path in folders} if best else {}
    compared = sorted((loss, path) for path, loss in losses.items() if loss is not None)
    for path in set(folders[:-last]) - {path for _, path in compared[:best]}:
        doomed = path.with_name(f".{path.name}.incomplete")  # so that a half of it is never taken for whole
        path.rename(doomed)
        shutil.rmtree(doomed)


def start_writing(folder: Path) -> Path:
    """An empty hidden folder to write the checkpoint into that will become `folder`.

    Raises:
        UserError: `folder` exists; nothing is overwritten.
    """
    if folder.exists():
        raise UserError(f"{folder} exists and is left alone: choose another folder")
    draft = folder.with_name(f".{folder.name}.incomplete")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    return draft


def write_tensors(path: Path, content: dict) -> tuple[int, int]:
    """Write `content` through to the disk. Returns size and checksum.

    Raises:
        OSError: the disk does not take it; what it had taken is removed.
    """
    try:
        with open(path, "wb") as file:
            torch.save(content, file)
            file.flush()
            os.fsync(file.fileno())
    except (OSError, RuntimeError) as error:
        path.unlink(missing_ok=True)  # a full disk is not kept full
        if isinstance(error, RuntimeError) and isinstance(error.__context__, OSError):
            raise error.__context__ from None  # torch's writer says "unexpected pos" in its place
        raise
    return path.stat().st_size, _checksum(path)


def commit(draft: Path, folder: Path, metadata: Metadata) -> None:
    """Write the metadata and give the checkpoint its name."""
    with open(draft / "metadata.json", "w", encoding="utf-8") as file:
        json.dump({"format": _FORMAT, **asdict(metadata)}, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    _flush_folder(draft)
    draft.rename(folder)
    _flush_folder(folder.parent)


def read_metadata(folder: Path) -> Metadata:
    """Read and check metadata.json.

    Raises:
        UserError: there is none, or it is not ours.
    """
    try:
        content = json.loads((folder / "metadata.json").read_text(encoding="utf-8"))
        if content.pop("format") != _FORMAT:
            raise UserError(f"{folder} was written by another version of this tool")
        layout = Layout(**content.pop("layout"))
        files = {name: (size, checksum) for name, (size, checksum) in content.pop("files").items()}
        return Metadata(layout=layout, files=files, **content)
    except FileNotFoundError:
        raise UserError(f"{folder} is not a checkpoint: it has no metadata.json") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{folder}/metadata.json is damaged ({error}): use another checkpoint") from None


def read_part(folder: Path, name: str, metadata: Metadata) -> dict:
    """Read one rank's file, after its size and checksum were compared.

    Raises:
        UserError: the file is missing, cut short or changed.
    """
    path = folder / name
    size, checksum = metadata.files.get(name, (None, None))
    if not path.is_file() or size is None:
        raise UserError(
            f"{path} is missing: use another checkpoint, or remove {folder} to go on from the one before"
        )
    actual = path.stat().st_size
    if actual != size:
        raise UserError(
            f"{path} is cut short: {actual} of {size} bytes. Use another checkpoint, or remove {folder} "
            "to go on from "
            "the one before"
        )
    if _checksum(path) != checksum:
        raise UserError(
            f"{path} is damaged: its checksum differs. Remove {folder} to go on from the one before"
        )
    return read_tensors(path)


def read_tensors(path: Path) -> dict:
    """Load a file of tensors and plain values; never runs code from it.

    Raises:
        UserError: the file cannot be read as such.
    """
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise UserError(f"no file {path}") from None
    except Exception as error:
        reason = str(error).strip().split("\n")[0]
        raise UserError(f"{path} cannot be read as a checkpoint of tensors: {reason}") from None


def _checksum(path: Path) -> int:
    value = 0
    with open(path, "rb") as file:
        while block := file.read(1 << 22):
            value = zlib.crc32(block, value)
    return value


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
