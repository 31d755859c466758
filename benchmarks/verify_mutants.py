"""Handed mistakes, read and run: `python -m benchmarks.verify_mutants SET/mutants.json REVISION RESULTS`.

Each mistake is made in the tree of the revision; `check` reads it and `verify --numbers` runs it. RESULTS gets a line
of JSON for each; what it holds already is not measured again, so a stopped run goes on where it was. The clean tree is
measured, too, on every layout of `CLEAN`. At the end: how many harmful mistakes are found, which are not, and of which
the run names another place than the edited file or a caller of it. Exit code 1 if less than 98 % are found, one is
misplaced, or the clean tree has a finding.
"""

from __future__ import annotations

import argparse
import compileall
import functools
import json
import multiprocessing
import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

from benchmarks.fix_mutants import make, unpack
from onescience_check.runtime.verify import UserError
from tests.mutants import matrix

CLEAN = ("1x1", "1x2", "2x1", "2x2", "1x4", "2x4")
_LEAST = 0.98


@functools.cache
def base(revision: str) -> tempfile.TemporaryDirectory:
    """The clean tree, compiled."""
    folder = tempfile.TemporaryDirectory(prefix="handed-")
    unpack(revision, Path(folder.name))
    compileall.compile_dir(folder.name, quiet=2)
    return folder


@contextmanager
def tree(revision: str, mistake: dict) -> Iterator[Path]:
    """The tree with the mistake in it, as the working folder."""
    home = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="handed-") as name:
        folder = Path(name)
        shutil.copytree(base(revision).name, folder, dirs_exist_ok=True)
        for file, *_ in mistake["edits"]:
            path = folder / file
            for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*"):
                compiled.unlink()
        make(mistake, folder)
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(home)


def run(folder: Path, layout: str) -> list[dict]:
    """All findings of `verify --numbers`; the numbers where the shapes show nothing."""
    try:
        result = matrix.verified(folder, layout)
    except UserError as error:
        return [{"part": "shapes", "kind": "usage", "message": str(error), "places": []}]
    return [
        {
            "part": result.part,
            "kind": finding.kind,
            "message": finding.message[:300],
            "places": [place for place in ((finding.path, finding.line), *finding.also) if place[0]],
        }
        for finding in result.findings
    ]


def measure(revision: str, mistake: dict) -> dict:
    """What is found of one mistake."""
    with tree(revision, mistake) as folder:
        found = run(folder, mistake["layout"])
        read = matrix.static(folder)
    return {"id": mistake["id"], "read": read, "run": found}


def is_placed(clean: Path, mistake: dict, found: list[dict]) -> bool:
    """Whether the run names an edited file, or one that calls what an edited file defines."""
    edited = {file for file, *_ in mistake["edits"]}
    places = {path for finding in found for path, _ in finding["places"]}
    if edited & places or any(file in finding["message"] for finding in found for file in edited):
        return True
    texts = [(clean / file).read_text("utf-8") for file in edited if file.endswith(".py")]
    defined = {name for text in texts for name in re.findall(r"^(?:def|class) (\w+)", text, re.MULTILINE)}
    callers = [(clean / path).read_text("utf-8") for path in places if (clean / path).is_file()]
    return any(re.search(rf"\b{name}\b", text) for name in defined for text in callers)


def kinds(read: list[list]) -> Counter:
    """Findings by symbol and file: lines move."""
    return Counter((symbol, path) for symbol, path, _ in read)


def summary(mistakes: list[dict], results: dict[str, dict], revision: str) -> bool:
    """Print it; whether all is as it must be."""
    clean = [row for row in results.values() if row["id"].startswith("clean")]
    before = kinds(clean[0]["read"]) if clean else Counter()
    for row in results.values():  # what newer rules say of the old tree is no merit
        row["new"] = kinds(row["read"]) - before
    spoiled = [row for row in clean if row["run"]]
    for row in spoiled:
        print(f"{row['id']}: {row['run'][:1]}")
    harmful = [m for m in mistakes if m["harm"] != "none" and m["id"] in results]
    missed = [m for m in harmful if not results[m["id"]]["new"] and not results[m["id"]]["run"]]
    ran = [m for m in harmful if results[m["id"]]["run"]]
    tree_of_all = Path(base(revision).name)
    misplaced = [m for m in ran if not is_placed(tree_of_all, m, results[m["id"]]["run"])]
    for mistake in missed:
        print(f"{mistake['id']}: not found: {mistake['title']} ({mistake['run']}: {mistake['what'][:120]})")
    for mistake in misplaced:
        first = results[mistake["id"]]["run"][0]
        print(
            f"{mistake['id']}: {mistake['title']}: the run names {first['places'][:1]}: {first['message'][:100]}"
        )
    found = len(harmful) - len(missed)
    print(
        f"{found} of {len(harmful)} harmful mistakes found, {len(ran)} by the run; {len(misplaced)} misplaced; "
        f"{len(clean) - len(spoiled)} of {len(clean)} layouts of the clean tree without a finding"
    )
    return found >= _LEAST * len(harmful) and not misplaced and not spoiled


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("mistakes", type=Path, metavar="SET/mutants.json")
    parser.add_argument("revision", metavar="REVISION")
    parser.add_argument("results", type=Path, metavar="RESULTS")
    parser.add_argument("ids", nargs="*", metavar="ID", help="these first, and anew")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    mistakes = json.loads(options.mistakes.read_text("utf-8"))
    rows = [
        {"id": f"clean {layout}", "edits": [], "layout": layout, "harm": "none"} for layout in CLEAN
    ] + mistakes
    lines = options.results.read_text("utf-8").splitlines() if options.results.is_file() else []
    results = {row["id"]: row for row in map(json.loads, lines)}
    asked = [row for row in rows if row["id"] in options.ids]
    waiting = asked or [row for row in rows if row["harm"] != "none" or row["id"].startswith("clean")]
    waiting = asked or [row for row in waiting if row["id"] not in results]
    matrix.preload()
    base(options.revision)
    context = multiprocessing.get_context("fork")
    with (
        ProcessPoolExecutor(options.jobs, context) as pool,
        options.results.open("a", encoding="utf-8") as file,
    ):
        for done in as_completed([pool.submit(measure, options.revision, row) for row in waiting]):
            found = done.result()
            results[found["id"]] = found
            file.write(f"{json.dumps(found)}\n")
            file.flush()
    return int(not summary(mistakes, results, options.revision))


if __name__ == "__main__":
    sys.exit(main())
