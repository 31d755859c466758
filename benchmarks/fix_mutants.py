"""What a safe repair is worth: `python -m benchmarks.fix_mutants SET/mutants.json REVISION [ID …]`.

Each mistake is made in the tree of the revision, `fix` makes its safe edits, and `verify --numbers` holds the repaired
model against the plain one. One line for each mistake with a safe edit; exit code 1 if a repaired one does not pass.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from onescience_check.checkers.repair.session import repair
from onescience_check.checkers.settings import load_settings

PARTS = ("reference_models", "runtime")
SCRIPT = "reference_models/examples/earth/pangu_weather_distributed_4stage/train.py"


def unpack(revision: str, folder: Path) -> None:
    """The tree of a revision."""
    data = subprocess.run(
        ["git", "archive", revision, *PARTS, "setup.cfg"], check=True, capture_output=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        archive.extractall(folder, filter="data")


def make(mistake: dict, folder: Path) -> None:
    """Write a mistake into the tree."""
    for name, old, new, *which in mistake["edits"]:
        path = folder / name
        parts = path.read_text().split(old)
        at = (which[0] if which else 0) + 1
        path.write_text(old.join(parts[:at]) + new + old.join(parts[at:]))


def verified(folder: Path) -> tuple[bool, str]:
    """Whether the model computes what the plain one does, and what is said if not."""
    command = [
        sys.executable,
        "-m",
        "onescience_check",
        "verify",
        SCRIPT,
        "--tp",
        "2",
        "--pp",
        "2",
        "--numbers",
    ]
    done = subprocess.run(
        [*command, "--format", "json"], cwd=folder, capture_output=True, text=True, check=False
    )
    found = [f for part in json.loads(done.stdout)["parts"] for f in part["findings"]] if done.stdout else []
    return done.returncode == 0, found[0]["message"] if found else done.stderr.strip()


def main() -> int:
    """Print the table."""
    file, revision, *wanted = sys.argv[1:]
    failed = 0
    for mistake in json.loads(Path(file).read_text()):
        if wanted and mistake["id"] not in wanted:
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            unpack(revision, folder)
            make(mistake, folder)
            paths = [folder / part for part in PARTS]
            done = repair(paths, load_settings(folder), _is_safe, write=True)
            if done.fixed:
                passes, said = verified(folder)
                failed += not passes
                symbols = ", ".join(sorted({finding.symbol for finding in done.fixed}))
                print(
                    mistake["id"],
                    mistake["kind"],
                    symbols,
                    "passes" if passes else said,
                    sep=" | ",
                    flush=True,
                )
            elif wanted:
                print(mistake["id"], mistake["kind"], "no safe edit", sep=" | ", flush=True)
    return int(failed > 0)


def _is_safe(finding) -> bool:
    return finding.fix is not None and finding.fix.applicability == "safe"


if __name__ == "__main__":
    sys.exit(main())
