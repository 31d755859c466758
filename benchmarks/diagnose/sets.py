"""What is run: the handed mutants, universal faults and case pairs, and the repository's own list of mistakes."""

from __future__ import annotations

import difflib
import io
import json
import re
import shutil
import subprocess
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from .cases import RUNS, program

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
REFERENCE = "39f73fa"  # the reference models that the mutants are edits of
TREE = "universal-tree/tree"
TRAINING = "reference_models/examples/earth/pangu_weather_distributed_4stage/train.py"


@dataclass
class Try:
    """One world: a drive, its arguments, its size."""

    drive: str
    arguments: list[str]
    processes: int


@dataclass
class Fault:
    """One mistake. `lines` are given for a case; of an edit they are found by comparing with `base`."""

    name: str
    family: str
    title: str
    base: Path
    edits: list[list[str]]
    tries: list[Try]
    paths: list[str]
    files: dict[str, str] = field(default_factory=dict)
    lines: list[tuple[str, int]] = field(default_factory=list)

    @property
    def marked(self) -> bool:
        """Whether the launcher marks the lines of each rank; half of the runs."""
        return zlib.crc32(self.name.encode()) % 2 == 0

    def make(self, tree: Path) -> None:
        """The faulty tree."""
        shutil.rmtree(tree, ignore_errors=True)
        shutil.copytree(self.base, tree, ignore=shutil.ignore_patterns("expect.txt", "good*", "__pycache__"))
        for file, old, new, *which in self.edits:
            path = tree / file
            text = path.read_text() if path.exists() else ""
            at = -1
            for _ in range((int(which[0]) if which and which[0] is not None else 0) + 1):
                at = text.index(old, at + 1)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text[:at] + new + text[at + len(old) :])
        for name, text in self.files.items():
            (tree / name).write_text(text)

    def changed(self, tree: Path) -> list[tuple[str, int, int, bool]]:
        """File, first and last changed line, and whether lines were only taken out there."""
        if self.lines:
            return [(file, line, line, False) for file, line in self.lines]
        found = []
        for file in dict.fromkeys(edit[0] for edit in self.edits):
            new = (tree / file).read_text().splitlines()
            old = (self.base / file).read_text().splitlines() if (self.base / file).exists() else []
            for tag, _, _, start, end in difflib.SequenceMatcher(None, old, new, False).get_opcodes():
                if tag != "equal":
                    gone = not any(line.strip() for line in new[start:end])
                    found.append((file, start + 1, max(end, start + 1), gone))
        return found


def reference(folder: Path, data: bool = True) -> Path:
    """The reference models of the commit that the mutants were made from, with small data to train on."""
    base = folder / "reference"
    if not base.exists():
        packed = subprocess.run(
            ["git", "archive", REFERENCE, "reference_models", "runtime", "tests/__init__.py", "tests/parity"],
            cwd=ROOT, check=True, capture_output=True,
        ).stdout  # fmt: skip
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(base, filter="data")
    return base


def mutants(sets: Path, folder: Path) -> Iterator[Fault]:
    for row in json.loads((sets / "mutants/mutants.json").read_text()):
        if row["run"] in ("crash", "hang"):
            yield of_reference(row["id"], "mutants", row, folder)


def of_reference(name: str, family: str, row: dict, folder: Path) -> Fault:
    """A mistake in the reference models, run by its training script and against the plain model."""
    tp, pp = row.get("layout", "2x2").split("x")
    parity = Try("reference_parity", [str(folder), f"{tp}x{pp}"], int(tp) * int(pp))
    flags = [
        "--tensor-model-parallel-size",
        tp,
        "--pipeline-model-parallel-size",
        pp,
        "--global-batch-size",
        "4",
    ]
    training = Try("reference_training", [*flags, "--train-iters", "2", "--device", "cpu"], parity.processes)
    tries = [parity, training]
    if row.get("group") in ("training", "config") or any(
        e[0] == TRAINING or "conf" in e[0] for e in row["edits"]
    ):
        tries.reverse()
    tries.append(
        Try(training.drive, [*training.arguments, "--recompute-granularity", "full"], parity.processes)
    )
    if zlib.crc32(name.encode()) % 3 == 2:  # a third of them through the guard of the runtime
        for run in tries:
            run.arguments.append("--own-words")
    return Fault(
        name, family, row["title"], reference(folder), row["edits"], tries, ["reference_models", "runtime"]
    )


def universal(sets: Path, folder: Path) -> Iterator[Fault]:
    for row in json.loads((sets / "universal-tree/faults.json").read_text()):
        if row["run"].startswith(("crash", "hang")):
            yield of_universal(row["id"], "universal", row, sets)


def of_universal(name: str, family: str, row: dict, sets: Path) -> Fault:
    """A mistake in the universal tree, trained in its own layouts and in larger ones."""
    layouts = [*(row["cases"] or ["tp2"]), "tp2pp2", "ckpt_tp2pp2", "tp2dp2sp"]
    tries = [Try("universal", [layout], _size(layout)) for layout in dict.fromkeys(layouts)]
    return Fault(name, family, row["title"], sets / TREE, row["edits"], tries, ["vlmtrain"])


def _size(layout: str) -> int:
    size = 1
    for axis in ("tp", "pp", "dp"):
        if axis in layout:
            size *= int(layout[layout.index(axis) + 2])
    return size


def cases(sets: Path, folder: Path) -> Iterator[Fault]:
    for name, (tp, pp, _) in RUNS.items():
        base = sets / "cases" / name
        base = base / "bad" if (base / "bad").is_dir() else base
        text = (base / "bad.py").read_text() if (base / "bad.py").exists() else ""
        rows = [row.split()[0] for row in (sets / "cases" / name / "expect.txt").read_text().splitlines()
                if row and row[0] != "#"]  # fmt: skip
        lines = [(row.removeprefix("bad/").split(":")[0], int(row.split(":")[1])) for row in rows]
        lines += _unlike(base / "bad.py", base / "good.py") if text else []
        run = Try("case", [], tp * pp)
        yield Fault(name, "cases", name, base, [], [run], ["."], {"run.py": program(name, text)}, lines)


def _unlike(bad: Path, good: Path) -> list[tuple[str, int]]:
    """The lines of the bad side that the good side does not have, comments apart."""
    wrong, right = (
        [re.sub(r"\s+#.*", "", line) for line in path.read_text().splitlines()] for path in (bad, good)
    )
    return [
        (bad.name, line + 1)
        for tag, start, end, _, _ in difflib.SequenceMatcher(None, wrong, right, False).get_opcodes()
        if tag != "equal"
        for line in range(start, end)
        if wrong[line].strip()
    ]


def own(sets: Path, folder: Path) -> Iterator[Fault]:
    """Mistakes of `faults.json` beside this file, made without looking at what the diagnosis says."""
    for row in json.loads((HERE / "faults.json").read_text()):
        if row["tree"] == "reference":
            yield of_reference(row["id"], "own", row, folder)
        else:
            yield of_universal(row["id"], "own", row, sets)


FAMILIES = {"mutants": mutants, "universal": universal, "cases": cases, "own": own}
