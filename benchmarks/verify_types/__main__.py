"""Placements by reading against those of a run: `python -m benchmarks.verify_types SETS [NAME …]`.

SETS holds `cases/right-trees`, `guide-trees/base` and `universal-tree/tree`; Megatron's GPT is taken from the installed
package, under another name, so that it counts as code of a user. Of every parallel layer that a run on two
tensor-parallel ranks calls, what it is given is split or whole; so it is by reading, or left open. Exit code 1 where
the two contradict each other, or where nothing runs.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from onescience_check.checkers.report.inputs import input_types
from onescience_check.checkers.report.target import find, find_stages
from onescience_check.runtime.verify import Plan, verify

HERE = Path(__file__).parent
_RUNTIME = "onescience_check.runtime"
_COPIED = ("transformer", "models", "fusions")
_SP = ("--sequence-parallel",)


@dataclass(frozen=True)
class Case:
    """One model: the tree it lies in, a file beside it that builds it or what its script needs, and how it is run."""

    tree: str
    fit: str
    script: str = ""
    input: tuple[int, ...] = ()
    flags: tuple[str, ...] = ()
    pp: int = 1
    places: tuple[str, ...] = ("fit.py",)
    aliases: tuple[tuple[str, str], ...] = ()
    stubs: tuple[str, ...] = ()


_UNIVERSAL = Case("universal-tree/tree", "universal", input=(2, 3, 16, 16))
CASES = {
    "gpt": Case("", "gpt", input=(2, 16)),
    "universal": _UNIVERSAL,
    "universal, sequence parallel": Case(_UNIVERSAL.tree, "universal", input=_UNIVERSAL.input, flags=_SP),
    "guide": Case(
        "guide-trees/base",
        script="examples/earth/qilin_distributed_4stage/train_distributed_4stage.py",
        pp=4,
        aliases=(
            ("onescience.distributed.megatron", "megatron"),
            ("onescience.distributed.pipelinetensorshapeconfig", f"{_RUNTIME}.pipelinetensorshapeconfig"),
        ),
        stubs=("onescience.distributed", "onescience.datapipes"),
        fit="guide",
        places=("src/onescience/utils/fcn/YParams.py", "src/onescience/utils/loss.py"),
    ),
    "assert-of-a-kind": Case("cases/right-trees/assert-of-a-kind", "right", input=(2, 8)),
    "dispatching-op": Case("cases/right-trees/dispatching-op", "right", input=(2, 16)),
    "static-forward": Case("cases/right-trees/static-forward", "right", input=(2, 8)),
}


def copy_of_megatron(folder: Path) -> None:
    """The folders of megatron-core that hold models, as a package of the user's."""
    [package] = importlib.util.find_spec("megatron").submodule_search_locations
    for part in _COPIED:
        source = Path(package, "core", part)
        shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "__init__.py").touch()
    for file in folder.rglob("*.py"):
        inside = ("megatron", "core", *file.relative_to(folder).parts[:-1])

        def absolute(match: re.Match, inside: tuple[str, ...] = inside) -> str:
            above = inside[: len(inside) + 1 - len(match[1])]
            return f"from {'.'.join([*above, *filter(None, [match[2]])])} import"

        text = re.sub(r"from (\.+)([\w.]*) import", absolute, file.read_text("utf-8"))
        text = re.sub(rf"megatron\.core\.({'|'.join(_COPIED)})\b", rf"{folder.name}.\1", text)
        file.write_text(text, "utf-8")


def types(case: Case, sets: Path, folder: Path) -> tuple[dict[str, str], dict[str, str], list[str]]:
    """What a run shows of each layer, what reading says, and why nothing runs. The working folder is `folder`."""
    if case.tree:
        shutil.copytree(sets / case.tree, folder, dirs_exist_ok=True)
    else:
        copy_of_megatron(folder / "gpt_copy")
    for place in case.places:
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(HERE / "fits" / f"{case.fit}.py", folder / place)
    stages = () if case.script else ("fit:Case",)
    target = find_stages(stages) if stages else find(folder / case.script)
    places = {"original": target.original, "roots": target.roots, "renamed": target.renamed}
    given = {
        "input_shape": case.input,
        "script_args": case.flags,
        "aliases": dict(case.aliases),
        "stubs": case.stubs,
    }
    plan = Plan(str(target.script), stages=stages, **places, tp=2, pp=case.pp, **given)
    [result] = verify(plan, ("numbers",))
    read = {os.path.relpath(place, folder): word for place, word in input_types([folder]).items()}
    run = {os.path.relpath(place, folder): word for place, word in result.types.items()}
    return run, read, [finding.message for finding in result.findings]


def main() -> int:
    """Compare."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sets", type=Path, metavar="SETS")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    sets, home, wrong, decided, all_layers = options.sets.absolute(), Path.cwd(), 0, 0, 0
    for name in options.names or CASES:
        with tempfile.TemporaryDirectory(prefix="types-") as folder:
            os.chdir(folder)
            try:
                run, read, said = types(CASES[name], sets, Path(folder).resolve())
            finally:
                os.chdir(home)
        against = {place: (read[place], seen) for place, seen in run.items() if read.get(place, seen) != seen}
        known = sum(place in read for place in run)
        wrong, decided, all_layers = wrong + len(against) + (not run), decided + known, all_layers + len(run)
        print(
            f"{name}: {len(run)} layers run, {known} decided by reading, {len(against)} contradicted",
            flush=True,
        )
        for place, (word, seen) in against.items():
            print(f"   {place}: {word} by reading, {seen} in the run")
        if not run:
            print(f"   {said[:1]}")
    print(f"{all_layers} layers, {decided} decided by reading, {wrong} contradicted or not run")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
