"""Mutants of the reference models: data, the trees they make, and the verdicts on them.

    python -m tests.mutants.trees [--share 1/10]      # measure again and write mutants.json

A mutant is one mistake: `edits` are [file, old text, new text] against this repository. `static` holds what reading
finds ([symbol, path, line] of every finding that the clean tree does not have), `run` what `verify --numbers` says
first ({part, kind, message, path, line}; null where it finds nothing).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
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


def share(mutants: list[dict], part: int, parts: int) -> list[dict]:
    """The `part`-th of `parts` shares, by name."""
    return [row for row in mutants if zlib.crc32(row["id"].encode()) % parts == part - 1]


@contextmanager
def tree(mutant: dict | None = None) -> Iterator[Path]:
    """A copy of the models with the mistake in it, or without one."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as name:
        folder = Path(name)
        for part in COPIED:
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "data"))
        shutil.copy(ROOT / "setup.cfg", folder)
        for file, old, new in (mutant or {}).get("edits", ()):
            path = folder / file
            text = path.read_text("utf-8")
            if text.count(old) < 1:
                raise ValueError(f"{mutant['id']}: {file} does not hold {old!r}")
            path.write_text(text.replace(old, new, 1), "utf-8")
        yield folder


def static(folder: Path) -> list[list]:
    """[symbol, path, line] of what reading finds."""
    found = _json(folder, "check", *COPIED)["findings"]
    return sorted([f["symbol"], f["path"], f["line"]] for f in found)


def run(folder: Path, layout: str) -> dict | None:
    """The first finding of both parts of `verify`."""
    tp, pp = layout.split("x")
    parts = _json(folder, "verify", SCRIPT, "--tp", tp, "--pp", pp, "--numbers")["parts"]
    for part in parts:
        for finding in part["findings"]:
            kept = {key: finding[key] for key in ("kind", "message", "module", "path", "line", "rule")}
            kept["message"] = kept["message"].replace(f"{folder}{os.sep}", "")
            return {"part": part["part"], **kept}
    return None


def _json(folder: Path, *words: str) -> dict:
    command = [sys.executable, "-m", "onescience_check", *words, "--format", "json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    if not done.stdout:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def main() -> None:
    """Measure again."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--share", default="1/1", help="N/M: the N-th of M parts")
    part, parts = map(int, parser.parse_args().share.split("/"))
    mutants = load()
    chosen = {row["id"] for row in share(mutants, part, parts)}
    for row in mutants:
        if row["id"] not in chosen:
            continue
        with tree(row) as folder:
            row["static"], row["run"] = static(folder), run(folder, row["layout"])
        print(
            row["id"],
            *[symbol for symbol, *_ in row["static"]],
            "|",
            (row["run"] or {}).get("kind"),
            flush=True,
        )
        DATA.write_text(json.dumps(mutants, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
