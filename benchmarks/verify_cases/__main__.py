"""Public cases run by `verify`: `python -m benchmarks.verify_cases CASES [NAME …]`.

CASES holds a folder for each case, with `bad.py` and `good.py` (or folders of these names). `cases.yaml` beside this
file says how each is run and what must be found on the bad side; the good side must be clean. Prints one line for each
case, and why the others are not run; exit code 1 where a case is not shown as it must be.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

import yaml

from onescience_check.checkers.report.target import find, find_stages
from onescience_check.runtime.verify import Finding, Plan, UserError, verify

HERE = Path(__file__).parent


def run(case: dict, name: str, source: Path) -> list[Finding]:
    """What verify finds in one side of a case."""
    home = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="case-") as folder:
        if source.is_dir():
            shutil.copytree(source, Path(folder, source.name))
        else:
            shutil.copy(source, Path(folder, "case.py"))
        if (HERE / "fits" / f"{name}.py").is_file():
            shutil.copy(HERE / "fits" / f"{name}.py", Path(folder, "fit.py"))
        os.chdir(folder)
        try:
            return verified(case, source.name)
        finally:
            os.chdir(home)


def verified(case: dict, side: str) -> list[Finding]:
    """What verify finds in the working folder."""
    stages = tuple(reference.replace("SIDE", side) for reference in case.get("stages", ()))
    target = find_stages(stages) if stages else find(Path(f"{case['script']}.py"))
    plan = Plan(
        str(target.script),
        original=target.original,
        stages=stages,
        roots=target.roots,
        renamed=target.renamed,
        tp=case.get("tp", 2),
        pp=case.get("pp", 1),
        overrides=case.get("set", {}),
        script_args=tuple(case.get("flags", ())),
        input_shape=tuple(int(size) for size in case["input"].split(",")) if "input" in case else (),
    )
    try:
        results = verify(plan, ("shapes", "numbers") if case.get("numbers") else ("shapes",))
    except UserError as error:
        return [Finding("usage", str(error))]
    return [finding for result in results for finding in result.findings]


def problem(case: dict, name: str, folder: Path) -> str:
    """What is not as it must be, "" if all is."""
    sides = [folder / side if (folder / side).is_dir() else folder / f"{side}.py" for side in ("bad", "good")]
    bad, good = (run(case, name, side) for side in sides)
    if not bad:
        return "nothing is found on the bad side"
    first = bad[0]
    if first.kind != case["kind"] or case["words"] not in first.message:
        return f"found is {first.kind}: {first.message[:150]} ({first.path}:{first.line})"
    places = [first.path, *(path for path, _ in first.also)]
    own = f"{case.get('place', 'case')}.py"
    if not any(Path(path).name == own or sides[0].is_dir() for path in places):
        return f"the place is {first.path}:{first.line}"
    allowed = {"refuses": "ValueError"}.get(case.get("good", ""), "")
    wrong = [finding for finding in good if not (allowed and finding.message.startswith(allowed))]
    return f"the good side: {wrong[0].kind}: {wrong[0].message[:150]}" if wrong else ""


def main() -> int:
    """Run them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cases", type=Path, metavar="CASES")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    cases = yaml.safe_load((HERE / "cases.yaml").read_text("utf-8"))
    chosen = {name: case for name, case in cases.items() if not options.names or name in options.names}
    folders = options.cases.absolute()
    missed = 0
    for name, case in chosen.items():
        if "why" in case:
            print(f"{name}: not run: {case['why']}")
            continue
        found = problem(case, name, folders / name)
        missed += bool(found)
        print(f"{name}: {found or 'shown'}", flush=True)
    runs = [case for case in chosen.values() if "why" not in case]
    print(f"{len(runs) - missed} of {len(runs)} cases shown; {len(chosen) - len(runs)} are not run")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
