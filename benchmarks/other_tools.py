"""`onescience-check` and its Pylint plugin against Pylint and TorchFix, on one folder in one run.

    python benchmarks/other_tools.py TREE FOLDER [--torchfix PATH/TO/torchfix] [--default-pylint]

`--default-pylint` also times Pylint with all its own checks, with and without the plugin (a minute or more each).
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from timing import Cost, measure, print_table

CHECK = [
    sys.executable,
    "-c",
    "from onescience_check.checkers.frontends.cli import main; main()",
    "--format",
    "json",
]
PYLINT = [sys.executable, "-m", "pylint", "--rcfile=", "--score=n", "--persistent=n"]
PLUGIN = "--load-plugins=onescience_check.checkers"
NO_OP = """
from pylint.checkers import BaseChecker

class NoOp(BaseChecker):
    name = "no-op"
    msgs = {"W9901": ("never", "never-said", "Never said.")}

    def visit_module(self, node):
        pass

def register(linter):
    linter.register_checker(NoOp(linter))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tree", type=Path)
    parser.add_argument("folder")
    parser.add_argument("--torchfix", default=shutil.which("torchfix"), help="the torchfix command")
    parser.add_argument("--default-pylint", action="store_true")
    parser.add_argument(
        "--repeat", type=int, default=3, help="runs of the short commands; the fastest counts"
    )
    options = parser.parse_args()
    tree, folder = options.tree.resolve(), options.folder
    with tempfile.TemporaryDirectory() as plugins:
        Path(plugins, "no_op_plugin.py").write_text(NO_OP)
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), plugins]))
        only_no_op = [*PYLINT, "--load-plugins=no_op_plugin", "--disable=all", "--enable=no-op"]
        both = [*PYLINT, "--load-plugins=no_op_plugin,onescience_check.checkers"]
        check = measure([*CHECK, folder], tree, options.repeat)
        no_op = measure([*only_no_op, folder], tree, options.repeat)
        plugin = measure([*both, "--disable=all", "--enable=no-op,onescience", folder], tree, options.repeat)
        rows = [
            row("onescience-check", check, "1.0"),
            row(
                "pylint, one no-op plugin",
                no_op,
                f"{no_op.seconds / check.seconds:.1f} x the check (at least 10)",
            ),
            row("the same, our plugin", plugin, f"{added(plugin, no_op):+.0f} %"),
        ]
        if options.default_pylint:
            plain = measure([*PYLINT, folder], tree)
            loaded = measure([*PYLINT, PLUGIN, folder], tree)
            rows.append(row("pylint, all its checks", plain, ""))
            rows.append(row("the same, our plugin", loaded, f"{added(loaded, plain):+.0f} % (at most 15)"))
        if options.torchfix:
            torchfix = measure([options.torchfix, folder], tree)
            rows.append(
                row("torchfix", torchfix, f"{torchfix.seconds / check.seconds:.1f} x the check (at least 25)")
            )
    print_table(["what", "seconds", "peak MB", "ratio"], rows)


def added(more: Cost, less: Cost) -> float:
    """Processor time of one run beyond another's, in percent: wall time of long runs depends on the neighbours."""
    return 100 * (more.processor / less.processor - 1)


def row(name: str, cost: Cost, ratio: str) -> list[str]:
    return [name, f"{cost.seconds:.2f}", f"{cost.megabytes:.0f}", ratio]


if __name__ == "__main__":
    main()
