"""Every mutant read and run: `python -m tests.mutants.matrix [--share 1/10] [--write] [ID …]`.

Prints one line for each, and what is no longer as `mutants.json` has it; exit code 1 if anything is. `--write` writes
the new verdicts instead. Torch and Megatron are imported once; each mutant is checked and verified as the commands
`check` and `verify --numbers` would, the numbers only where the shapes show nothing.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import multiprocessing
import os
import pkgutil
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from onescience_check import checkers
from onescience_check.checkers import engine
from onescience_check.checkers.report.target import find
from onescience_check.checkers.settings import load_settings
from onescience_check.runtime import verify
from onescience_check.runtime.verify import UserError, api
from onescience_check.runtime.verify.number_run import verify_numbers
from onescience_check.runtime.verify.shape_run import verify_shapes
from tests.mutants import trees

KEPT = ("kind", "message", "module", "path", "line", "rule")


def static(folder: Path) -> list[list]:
    """[symbol, path, line] of what reading finds. The working folder is that of the tree."""
    result = engine.run([Path(part) for part in trees.COPIED], load_settings(folder))
    return sorted([f.symbol, f.place.path, f.place.line] for f in result.findings)


def verified(folder: Path, layout: str, script: str = trees.SCRIPT, flags: Sequence[str] = ()):
    """What `verify --numbers` says: the shapes, and the numbers where these show nothing.

    Raises:
        UserError: the script cannot be verified.
    """
    tp, pp = map(int, layout.split("x"))
    target = find(folder / script)
    places = {"original": target.original, "roots": target.roots, "renamed": target.renamed}
    plan = verify.Plan(str(target.script), **places, tp=tp, pp=pp, limit=150, script_args=tuple(flags))
    shapes = verify_shapes(plan)
    return shapes if shapes.findings else verify_numbers(plan, shapes.known or None)


def run(folder: Path, layout: str, script: str = trees.SCRIPT, flags: Sequence[str] = ()) -> dict | None:
    """The first finding of `verify --numbers`."""
    try:
        result = verified(folder, layout, script, flags)
    except UserError as error:
        return {"part": "shapes", "kind": "usage", "message": str(error), "module": "", "path": "", "line": 0}
    for finding in result.findings:
        kept = {key: getattr(finding, key) for key in KEPT}
        kept |= {key: kept[key].replace(f"{folder}{os.sep}", "") for key in ("message", "path")}
        return {"part": result.part, **kept}
    return None


def measure(mutant: dict) -> dict:
    """`static` and `run` of one mutant, and the seconds of processors that they took."""
    before, home = os.times(), Path.cwd()
    with trees.tree(mutant) as folder:
        os.chdir(folder)
        try:
            ran = run(folder, mutant["layout"], mutant.get("script", trees.SCRIPT), mutant.get("flags", ()))
            found = {"id": mutant["id"], "static": static(folder), "run": ran}
        finally:
            os.chdir(home)
    used = [after - start for after, start in zip(os.times()[:4], before[:4], strict=True)]
    return found | {"seconds": sum(used)}


def same(found: dict, row: dict) -> bool:
    """Whether the verdicts are those of the data. Numbers in messages may differ from machine to machine."""
    places = [
        (verdict["part"], verdict["kind"], verdict["path"]) if verdict else None
        for verdict in (found["run"], row["run"])
    ]
    return found["static"] == row["static"] and places[0] == places[1]


def preload() -> None:
    """Import all that the processes to come would: what is edited meanwhile does not mix with it."""
    api.preload()
    trees.base()
    for package in (checkers, verify):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    gc.freeze()


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("ids", nargs="*", metavar="ID")
    parser.add_argument("--share", default="1/1", help="N/M: the N-th of M parts")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="write the verdicts")
    options = parser.parse_args()
    mutants = trees.load()
    chosen = trees.share(mutants, *map(int, options.share.split("/")))
    chosen = [row for row in chosen if not options.ids or row["id"] in options.ids]
    rows = {row["id"]: row for row in mutants}
    started, used, changed = time.monotonic(), 0.0, 0
    preload()
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(options.jobs, context) as pool:
        for done in as_completed([pool.submit(measure, row) for row in chosen]):
            found = done.result()
            row, used = rows[found["id"]], used + found.pop("seconds")
            symbols = " ".join(dict.fromkeys(symbol for symbol, *_ in found["static"]))
            verdict = found["run"]["kind"] if found["run"] else "nothing"
            print(f"{found['id']}: read {symbols or 'nothing'}; run {verdict}", flush=True)
            if not same(found, row):
                changed += 1
                print(f"   was: {json.dumps({key: row[key] for key in ('static', 'run')})}")
                print(f"   is:  {json.dumps({key: found[key] for key in ('static', 'run')})}", flush=True)
            if options.write:
                row |= found
                trees.store(mutants)
    print(
        f"{len(chosen)} mutants, {changed} with another verdict; {time.monotonic() - started:.0f} s, "
        f"{used:.0f} s of processors"
    )
    return int(changed > 0 and not options.write)


if __name__ == "__main__":
    sys.exit(main())
