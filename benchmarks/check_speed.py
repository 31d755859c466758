"""Time and memory of `onescience-check` on a tree, against the floor, and on ten copies of it.

    python benchmarks/check_speed.py TREE [FOLDER...]

FOLDERs are relative to TREE (default: TREE itself). Everything is cold: a new process each time.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from timing import measure, print_table

CHECK = [
    sys.executable,
    "-c",
    "from onescience_check.checkers.frontends.cli import main; main()",
    "--no-cache",
    "--format",
    "json",
]
FLOOR = [sys.executable, str(Path(__file__).with_name("floor.py"))]
COPIES = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tree", type=Path)
    parser.add_argument("folders", nargs="*", default=["."])
    parser.add_argument("--repeat", type=int, default=3, help="runs of each command; the fastest counts")
    parser.add_argument("--no-copies", action="store_true", help="leave out the ten copies")
    options = parser.parse_args()
    tree = options.tree.resolve()
    floor = measure([*FLOOR, *options.folders], tree, options.repeat)
    check = measure([*CHECK, *options.folders], tree, options.repeat)
    rows = [
        ["floor: read all, prefilter, parse", f"{floor.seconds:.2f}", f"{floor.megabytes:.0f}", "1.0"],
        [
            "onescience-check",
            f"{check.seconds:.2f}",
            f"{check.megabytes:.0f}",
            f"{check.seconds / floor.seconds:.1f} (at most 3)",
        ],
    ]
    if not options.no_copies:
        with tempfile.TemporaryDirectory() as folder:
            top = Path(folder)
            (top / "setup.cfg").write_text("")
            for number in range(COPIES):
                for name in options.folders:
                    shutil.copytree(
                        tree / name,
                        top / f"copy{number}" / name,
                        ignore=_other_than_python,
                        dirs_exist_ok=True,
                    )
            ten = measure([*CHECK, "."], top)
        ratio = f"{ten.seconds / check.seconds:.1f} x one (at most 11)"
        rows.append(
            [f"onescience-check, {COPIES} copies", f"{ten.seconds:.2f}", f"{ten.megabytes:.0f}", ratio]
        )
    print_table(["what", "seconds", "peak MB", "ratio"], rows)


def _other_than_python(folder: str, names: list[str]) -> list[str]:
    """Files that no run reads; links, which could leave the tree."""
    paths = [(name, Path(folder, name)) for name in names]
    return [name for name, path in paths if path.is_symlink() or (path.is_file() and path.suffix != ".py")]


if __name__ == "__main__":
    main()
