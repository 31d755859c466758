"""Mutants of the reference models: data, and the trees they make.

A mutant is one mistake: `edits` are [file, old text, new text] against this repository, all made in order. `rule` is
the rule that it was made for, `static` what reading finds ([symbol, path, line] of every finding that the clean tree
does not have), `run` what `verify --numbers` says first of the training script `script`, by default that of
Pangu-Weather, started with `flags` (null where it finds nothing). `matrix` measures both.
"""

from __future__ import annotations

import compileall
import functools
import json
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
DATA = Path(__file__).with_name("mutants.json")
SCRIPT = "reference_models/examples/earth/pangu_weather_distributed_4stage/train.py"
COPIED = ("reference_models", "runtime")


def load() -> list[dict]:
    """All mutants."""
    return json.loads(DATA.read_text("utf-8"))


def store(mutants: list[dict]) -> None:
    """Write them, as they are read."""
    DATA.write_text(json.dumps(mutants, indent=1, ensure_ascii=False) + "\n", "utf-8")


def share(mutants: list[dict], part: int, parts: int) -> list[dict]:
    """The `part`-th of `parts` shares, by name."""
    return [row for row in mutants if zlib.crc32(row["id"].encode()) % parts == part - 1]


@functools.cache
def base() -> tempfile.TemporaryDirectory:
    """A copy of the models, compiled: every process that runs a mutant would compile all of them anew."""
    folder = tempfile.TemporaryDirectory(prefix="mutants-")
    for part in COPIED:
        ignored = shutil.ignore_patterns("__pycache__", "data")
        shutil.copytree(ROOT / part, Path(folder.name, part), ignore=ignored)
    compileall.compile_dir(folder.name, quiet=2)
    shutil.copy(ROOT / "setup.cfg", folder.name)
    return folder


@contextmanager
def tree(mutant: dict | None = None) -> Iterator[Path]:
    """A copy of the models with the mistake in it, or without one."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as name:
        folder = Path(name)
        shutil.copytree(base().name, folder, dirs_exist_ok=True)
        for file, old, new in (mutant or {}).get("edits", ()):
            path = folder / file
            text = path.read_text("utf-8")
            if old not in text:
                raise ValueError(f"{mutant['id']}: {file} does not hold {old!r}")
            path.write_text(text.replace(old, new, 1), "utf-8")
            for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
                compiled.unlink()
        yield folder
