"""What the check says of pinned trees, and what it costs: recorded in the repository, compared at each change.

    python -m benchmarks.golden FOLDER [NAME...] [--accept] [--cases CASES]

FOLDER holds the trees of `TREES`, each under its name, fetched by hand: a commit, or a wheel that was unpacked. Without
names all trees that lie there, the fixtures and (with `--cases`) the shared cases are run. Differences from
`benchmarks/golden/NAME.txt` are printed; `--accept` writes them down. Findings are recorded with their evidence. Steps
tell the work whatever else the machine does; seconds are processor time.
"""

from __future__ import annotations

import argparse
import difflib
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from onescience_check.checkers.engine import examine, room
from onescience_check.checkers.files.discovery import FileSet
from onescience_check.checkers.finding import Finding
from onescience_check.checkers.settings import load_settings

HERE = Path(__file__).resolve().parent
TREES = {
    "OneScience": ("src", "examples"),  # commit 545c77ef
    "vllm-0.21.0": (".",),  # the wheel
    "sglang-0.5.23": (".",),  # the wheel
    "Megatron-LM-d98e8a64": (".",),  # the commit
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--accept", action="store_true", help="write what was seen into the repository")
    parser.add_argument("--cases", type=Path, help="folder of the shared cases")
    parser.add_argument("--record", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_intermixed_args()
    if options.record:
        print(record(options.names[0], options.folder), end="")
        return
    places = {name: options.folder / name for name in TREES}
    places["fixtures"] = HERE.parent / "tests/rules"
    if options.cases:
        places["cases"] = options.cases
    same = True
    for name in options.names or [name for name, place in places.items() if place.is_dir()]:
        command = [sys.executable, "-m", "benchmarks.golden", "--record", str(places[name].resolve()), name]
        seen = subprocess.run(command, cwd=HERE.parent, check=True, capture_output=True, text=True).stdout
        same &= compare(name, seen, options.accept)
    sys.exit(0 if same else 1)


def compare(name: str, seen: str, accept: bool) -> bool:
    """Print what differs from the record; whether what was found is the same (cost does not count)."""
    file = HERE / "golden" / f"{name}.txt"
    before = file.read_text("utf-8").splitlines() if file.exists() else []
    now = seen.splitlines()
    old, new = ([line for line in lines if not line.startswith("cost ")] for lines in (before, now))
    print(f"{name}: {costs(before)} -> {costs(now)}")
    for line in difflib.unified_diff(old, new, "before", "now", lineterm="", n=0) if before else ():
        if not line.startswith(("@@", "---", "+++")):
            print(f"  {line}")
    if accept:
        file.write_text(seen, "utf-8")
    return old == new


def costs(lines: list[str]) -> str:
    return "; ".join(line.removeprefix("cost ") for line in lines if line.startswith("cost ")) or "no record"


def record(name: str, place: Path) -> str:
    """The lines of one tree, or of every file and folder of the fixtures or the cases checked alone."""
    os.chdir(place)
    start = seconds()
    lines: list[str] = []
    steps = 0
    for paths in subjects(name):
        with room():
            settings = load_settings(paths[0].absolute())
            seen = examine(FileSet.gather(paths, settings), settings)
        steps += seen.analysis.steps
        result = seen.result
        for finding in result.findings:
            lines += described(finding)
        lines += [f"undecided {where(finding)}" for finding in result.undecided]
        lines += [f"skipped {skip.path}: {skip.reason}" for skip in result.skipped]
        if name in TREES:
            summary = result.summary
            lines.append(
                f"counts {summary.files} files, {summary.parallel_layers} layers, "
                f"{summary.inputs_decided} inputs decided, {summary.inputs_undecided} undecided"
            )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    lines.append(f"cost {steps} steps, {seconds() - start:.1f} s, {peak} MB")
    return "\n".join(lines) + "\n"


def subjects(name: str) -> Iterator[list[Path]]:
    """The paths of each run."""
    if name in TREES:
        yield [Path(folder) for folder in TREES[name]]
        return
    for folder in sorted(path for path in Path().iterdir() if path.is_dir()):
        for path in sorted(folder.iterdir()):
            if path.suffix == ".py" or (path.is_dir() and path.name != "__pycache__"):
                yield [path]


def described(finding: Finding) -> Iterator[str]:
    yield f"finding {where(finding)}: {finding.message}"
    for step in finding.evidence:
        yield f"    {step.path}:{step.line}: {step.text}"


def where(finding: Finding) -> str:
    place = finding.place
    return f"{place.path}:{place.line}:{place.column} {finding.code} {finding.symbol}"


def seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime


if __name__ == "__main__":
    main()
