"""How often `diagnose` puts a mistake first: trees with one mistake each run until they crash or hang.

    python -m benchmarks.diagnose SETS [--family mutants …] [--only NAME …] [--folder KEEP] [--new] [-v]

SETS holds the handed `mutants`, `universal-tree` and `cases`; the repository's own mistakes are in `faults.json` beside
this file. Needs torch and megatron-core, no GPU: worlds of two to eight processes, about five seconds each. Trees and
logs are kept in KEEP and used again unless `--new` is given. The table counts logs whose first cause, or one of whose
first three, is the edited line.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from .scoring import place
from .sets import FAMILIES, ROOT, Fault


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", type=Path)
    parser.add_argument("--family", nargs="*", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--folder", type=Path, default=Path("diagnose-logs"))
    parser.add_argument("--new", action="store_true", help="run worlds whose log is there already, too")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the causes of each log")
    options = parser.parse_args()
    folder = options.folder.resolve()
    faults = list(_faults(options.sets.resolve(), folder, options.family, options.only))
    for fault in faults:
        _log(fault, folder, options.new)
    rows: dict[str, Counter[str]] = {}
    for fault in faults:
        told = json.loads(_at(folder, fault, ".json").read_text())
        row = rows.setdefault(fault.family, Counter())
        row["made"] += 1
        if told["ended"] == 0:
            print(f"{fault.family} {fault.name}: neither crashes nor hangs: {fault.title}")
            continue
        number, made = place(fault, _at(folder, fault, ""), _at(folder, fault, ".log"))
        row["logs"] += 1
        row["first"] += number == 0
        row["three"] += number is not None and number < 3
        if number != 0 or options.verbose:
            print(f"{fault.family} {fault.name}: {made.story.kind.name}, place {number}: {fault.title}")
        if options.verbose:
            for cause in made.causes:
                keys = [why.key for why in cause.reasons]
                print(f"    {cause.weight:6.1f} {cause.path}:{cause.line} {cause.code[:70]} {keys}")
    _table(rows)


def _faults(sets: Path, folder: Path, families: list[str], only: list[str]) -> Iterator[Fault]:
    folder.mkdir(parents=True, exist_ok=True)
    for family in families:
        for fault in FAMILIES[family](sets, folder):
            if not only or fault.name in only:
                yield fault


def _at(folder: Path, fault: Fault, ending: str) -> Path:
    return folder / fault.family / f"{fault.name}{ending}"


def _log(fault: Fault, folder: Path, new: bool) -> None:
    """Run the tries of a fault until one crashes or hangs; its log stays."""
    told = _at(folder, fault, ".json")
    if told.exists() and not new:
        return
    from .worlds import run_world

    tree = _at(folder, fault, "")
    try:
        fault.make(tree)
    except ValueError:
        raise SystemExit(f"{fault.family} {fault.name} does not apply: the tree has changed") from None
    if fault.paths != ["vlmtrain"] and fault.family != "cases":
        _plain_results(folder)
        _data(folder, tree)
    ended: int | str = 0
    for run in fault.tries:
        start = time.monotonic()
        drive = ROOT / f"benchmarks/diagnose/drives/{run.drive}.py"
        ended = run_world(drive, run.arguments, tree, run.processes, _at(folder, fault, ".log"), fault.marked)
        took = time.monotonic() - start
        print(f"{fault.name} {run.drive} {run.arguments[-1:]} {ended} {took:.0f} s", flush=True)
        if ended != 0:
            break
    told.write_text(json.dumps({"ended": ended, "drive": run.drive, "arguments": run.arguments}))


def _plain_results(folder: Path) -> None:
    """What the plain model computes, for the comparison with each layout."""
    if (folder / "weights.pt").exists():
        return
    child = os.fork()
    if child == 0:
        from .plain import write

        write(folder)
        os._exit(0)
    os.waitpid(child, 0)


def _data(folder: Path, tree: Path) -> None:
    """Small data to train on, made once."""
    if not (folder / "data").exists():
        child = os.fork()
        if child == 0:
            from .plain import make_data

            make_data(folder)
            os._exit(0)
        os.waitpid(child, 0)
    if not (tree / "data").exists():
        os.symlink(folder / "data", tree / "data")


def _table(rows: dict[str, Counter[str]]) -> None:
    total: Counter[str] = sum(rows.values(), Counter())
    print(f"\n{'':12}{'made':>6}{'logs':>6}{'first':>14}{'in three':>14}")
    for name, row in [*rows.items(), ("together", total)]:
        count = max(row["logs"], 1)
        shares = [f"{row[key]} ({100 * row[key] / count:.1f} %)" for key in ("first", "three")]
        print(f"{name:12}{row['made']:>6}{row['logs']:>6}{shares[0]:>14}{shares[1]:>14}")


if __name__ == "__main__":
    main()
