"""Look for inputs on which the command crashes, hangs, or prints what it must not.

    python tests/fuzz.py --seconds 3600 --seed 1 --output FOLDER

Each case is a small tree, made of the rules' own examples by changes drawn from the seed, and one call of the command
in a process of its own. What fails is made smaller and kept in FOLDER, one folder a failure, with `case.json` beside
the files. Exit code 1 when anything failed.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from fuzz_inputs import LINK, PIPE, Case, make

from onescience_check.checkers import engine  # noqa: F401  loaded once, before any case forks
from onescience_check.checkers.frontends import cli, json_report, text_report  # noqa: F401
from onescience_check.checkers.report import build  # noqa: F401

LIMIT = 20
"""Seconds that a case may take."""


def write(files: dict[str, bytes], folder: Path) -> None:
    """Lay out the tree of a case."""
    for name, data in files.items():
        path = folder / name
        with contextlib.suppress(OSError, ValueError):
            path.parent.mkdir(parents=True, exist_ok=True)
            if data == PIPE:
                os.mkfifo(path)
            elif data.startswith(LINK):
                path.symlink_to(data[len(LINK) :].decode())
            else:
                path.write_bytes(data)


def fault(case: Case) -> str:
    """What is wrong with how the command takes a case; empty if nothing."""
    with tempfile.TemporaryDirectory() as name:
        tree, said = Path(name, "tree"), Path(name, "said")
        tree.mkdir()
        write(case.files, tree)
        Path(name, "given").write_bytes(case.given)
        child = os.fork()
        if child == 0:
            _run(case, tree, said)
        code = _wait(child)
        text = said.read_bytes() if said.exists() else b""
    if code is None:
        return f"no end within {LIMIT} s"
    for line in text.decode(errors="replace").splitlines():
        for sign in ("internal error", "Traceback", "Warning:"):
            if sign in line:
                return line[line.index(sign) :].split("; please")[0]
    if code not in (0, 1, 2):
        return f"exit code {code}"
    steering = [byte for byte in set(text) if byte < 32 and byte not in b"\n"]
    if steering and case.output != "terminal" and "--diff" not in case.call:  # a patch holds the very bytes
        return f"control characters {sorted(steering)}"
    if case.output == "pipe" and "json" in case.call and code != 2:
        try:
            json.loads(text.decode(case.encoding))
        except ValueError as error:
            return f"no JSON: {type(error).__name__}"
    return ""


def _run(case: Case, tree: Path, said: Path) -> None:
    """The command, in the process of a case."""
    code = 99
    try:
        os.chdir(tree)
        os.environ.update({"COLUMNS": case.width} if case.width else {})
        os.environ.update({"FORCE_COLOR": "1"} if case.output == "terminal" else {})
        os.environ["TMPDIR"] = str(tree.parent)
        errors = open(said, "ab", buffering=0)  # noqa: SIM115
        sys.stderr = io.TextIOWrapper(errors, case.encoding, "backslashreplace", write_through=True)
        target = {"full": "/dev/full", "closed": os.devnull}.get(case.output, str(said))
        sys.stdout = open(target, "a", encoding=case.encoding)  # noqa: SIM115
        sys.stdin = open(tree.parent / "given", encoding="utf-8")  # noqa: SIM115
        if case.output == "closed":
            sys.stdout = None
        sys.argv = ["onescience-check", *case.call]
        try:
            cli.main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        if sys.stdout is not None and case.output != "full":
            sys.stdout.flush()
    except BaseException as error:
        with open(said, "a", encoding="utf-8") as file:
            file.write(f"\nTraceback {type(error).__name__}: {error}\n")
    finally:
        os._exit(code)


def _wait(child: int) -> int | None:
    until = time.monotonic() + LIMIT
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def smaller(case: Case, sign: str) -> Case:
    """The case with what does not matter taken away."""
    began = time.monotonic()
    changed = True
    while changed and time.monotonic() - began < 120:
        changed = False
        for files in _reductions(case.files):
            if time.monotonic() - began > 120:
                break
            less = replace(case, files=files)
            if fault(less) == sign:
                case, changed = less, True
                break
    return case


def _reductions(files: dict[str, bytes]) -> Iterator[dict[str, bytes]]:
    for name in files:
        yield {other: data for other, data in files.items() if other != name}
    for name, data in files.items():
        lines = data.split(b"\n")
        step = len(lines) // 2
        while step and data != PIPE and not data.startswith(LINK):
            for at in range(0, len(lines), step):
                yield {**files, name: b"\n".join(lines[:at] + lines[at + step :])}
            step //= 2


def keep(case: Case, sign: str, folder: Path) -> None:
    """Write a case where it can be looked at."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "tree").mkdir(parents=True)
    write(case.files, folder / "tree")
    said = {
        "fault": sign,
        "call": case.call,
        "encoding": case.encoding,
        "width": case.width,
        "output": case.output,
    }
    (folder / "case.json").write_text(json.dumps(said, indent=1) + "\n", "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60, help="how long to look")
    parser.add_argument("--seed", type=int, default=0, help="of the first case; the next has the next number")
    parser.add_argument("--output", type=Path, default=Path("fuzz-found"), help="folder for what fails")
    options = parser.parse_args()
    until, seed = time.monotonic() + options.seconds, options.seed
    found: dict[str, int] = {}
    while time.monotonic() < until:
        case = make(random.Random(seed))
        sign = fault(case)
        if sign and sign not in found:
            found[sign] = seed
            print(f"seed {seed}: {sign}", flush=True)
            keep(smaller(case, sign), sign, options.output / str(seed))
        seed += 1
    print(f"{seed - options.seed} cases, {len(found)} kinds of failure")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
