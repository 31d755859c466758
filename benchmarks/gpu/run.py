"""Measure the reference Pangu-Weather on the GPUs of this machine and write JSON and a table.

    python -m benchmarks.gpu.run [--output FOLDER] [--only PHASE ...] [--commit ID]

Run it in the repository with the package installed (``pip install .[runtime]``), on any number of GPUs: two add parity
over NCCL and scaling, four and eight the layouts of so many ranks and parity at full size.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch

from . import table
from .models import LAYOUTS

PHASES = ("speed", "scaling", "curves", "correctness", "full", "killed")
# Ranks, and what they check: what a compiler works on for long has processes of its own. Ranks may share a GPU.
CORRECTNESS = (
    (1, ("eager", "compiled")),
    (2, ("eager",)),
    (2, ("compiled",)),
    (4, ("eager",)),
    (8, ("eager",)),
)
FULL_CORRECTNESS = (("full", (1, 4, 8)), ("wide", (1, 4)))  # sizes and ranks, a GPU for each


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"), help="folder for results")
    parser.add_argument("--only", nargs="+", choices=PHASES, default=PHASES, help="phases to run")
    parser.add_argument("--commit", help="of what is measured; default: that of the repository")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("error: torch sees no GPU on this machine", file=sys.stderr)
        return 1
    began = time.monotonic()
    options.output.mkdir(parents=True, exist_ok=True)
    gpus = torch.cuda.device_count()
    result = {
        "command": " ".join(["python -m benchmarks.gpu.run", *sys.argv[1:]]),
        "commit": options.commit or _commit(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "card": f"{gpus} x {torch.cuda.get_device_name()}",
        "torch": torch.__version__,
        "failures": [],
    }
    for phase, needed in (("scaling", 2), ("killed", 2), ("full", 4)):
        if gpus < needed and set(options.only) == {phase}:
            print(f"error: {phase} needs {needed} GPUs or more, and there are {gpus}", file=sys.stderr)
            return 1
    with tempfile.TemporaryDirectory() as name:
        result["target"] = str(options.output / f"gpu-{result['date']}.json")
        for lanes in _steps(Path(name), options.only, gpus):
            with ThreadPoolExecutor(len(lanes)) as pool:
                for errors in pool.map(lambda lane: [job.run() for job in lane], lanes):
                    result["failures"] += filter(None, errors)
            result["seconds"] = round(time.monotonic() - began)
            text = _write(Path(name), result)
        print(text)
    return int(bool(result["failures"]))


def _commit() -> str:
    found = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


@dataclass
class Job:
    """A process of the harness: arguments of Python, what it adds to the environment, seconds it may take."""

    name: str
    words: list
    environment: dict[str, str]
    limit: float

    def run(self) -> str | None:
        """Returns what went wrong."""
        began = time.monotonic()
        command = [sys.executable, *map(str, self.words)]
        process = subprocess.Popen(command, env={**os.environ, **self.environment})
        try:
            code = process.wait(self.limit)
        except subprocess.TimeoutExpired:
            process.terminate()
            process.wait()
            code = f"no end within {self.limit:.0f} s"
        print(f"{self.name}: status {code} after {time.monotonic() - began:.0f} s", flush=True)
        return f"{self.name}: {code}" if code != 0 else None


def _steps(folder: Path, only, gpus: int) -> list[list[list[Job]]]:
    """What to run: steps one after the other, the lanes of a step side by side, the jobs of a lane in order.

    What is timed has a GPU, or both, to itself; what is not timed shares them at the end.
    """
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(gpus)))).split(",")
    first, last = ({"CUDA_VISIBLE_DEVICES": chosen[gpu]} for gpu in (0, min(gpus, 2) - 1))
    speed = Job("speed", _module("speed", folder), first | {"MASTER_PORT": "29511"}, 300)
    one = _timed(1, folder, ["one"])
    one.environment = last
    scaling = [[one]] + [
        [_timed(ranks, folder, names)]
        for ranks in (1, 2, 4, 8)
        if ranks <= gpus and (names := [name for name in _layouts(gpus) if LAYOUTS[name].ranks == ranks])
    ]
    curves = Job("loss curves", _module("curves", folder), last | {"MASTER_PORT": "29512"}, 200)
    plain, *parallel = (_checked(ranks, folder, "small", kinds) for ranks, kinds in CORRECTNESS)
    plain.environment = last
    steps = {
        "speed": [[[speed]]],
        "scaling": [[lane] for lane in scaling] if gpus > 1 else [],
        "curves": [[[curves]]],
        "correctness": [[[plain]], [[job] for job in parallel]],
        "full": [
            [[_checked(ranks, folder, size, ("eager",), limit=600)]]
            for size, worlds in FULL_CORRECTNESS
            for ranks in worlds
            if gpus >= 4 and ranks <= gpus
        ],
        "killed": [[[Job("killed", _module("killed", folder, min(gpus, 8)), {}, 500)]]] if gpus > 1 else [],
    }
    if gpus > 1 and {"speed", "scaling", "curves", "correctness"} <= set(
        only
    ):  # what needs one GPU shares the time
        steps |= {"speed": [[[speed], [one]]], "scaling": steps["scaling"][1:]}
        steps |= {"curves": [[[curves], [plain]]], "correctness": steps["correctness"][1:]}
    return [step for phase in PHASES if phase in only for step in steps[phase]]


def _layouts(gpus: int) -> list[str]:
    """What is timed on so many GPUs beside "one"; other sizes than the full one from four GPUs on."""
    return [
        name
        for name, layout in LAYOUTS.items()
        if name != "one" and layout.ranks <= gpus and (layout.size == "full" or gpus >= 4)
    ]


def _timed(ranks: int, folder: Path, names: list[str]) -> Job:
    return Job(f"scaling, {', '.join(names)}", _ranks(ranks, "scaling", folder, *names), {}, 400)


def _checked(ranks: int, folder: Path, size: str, kinds, limit: float = 300) -> Job:
    words = _ranks(ranks, "correctness", folder, size, "cuda", *kinds)
    return Job(f"correctness, {size}, {ranks} ranks, {' and '.join(kinds)}", words, {}, limit)


def _write(folder: Path, result: dict) -> str:
    """Write what there is so far, so that a run cut short keeps it. Returns the table."""
    result["correctness"] = [
        row for path in sorted(folder.glob("correct*.json")) for row in json.loads(path.read_text())
    ]
    result["scaling"] = {
        path.stem[8:]: json.loads(path.read_text()) for path in folder.glob("scaling_*.json")
    }
    for name in ("speed", "curves", "killed"):
        path = folder / f"{name}.json"
        result[name] = json.loads(path.read_text()) if path.is_file() else None
    text = table.render(result)
    Path(result["target"]).write_text(json.dumps(result, indent=1) + "\n")
    Path(result["target"]).with_suffix(".md").write_text(text)
    return text


def _module(module: str, *words) -> list:
    return ["-m", f"benchmarks.gpu.{module}", *words]


def _ranks(ranks: int, module: str, *words) -> list:
    entry = Path(__file__).with_name("entry.py")
    launch = ["-m", "onescience_check.runtime.launch", "--nproc-per-node", ranks]
    return [*launch, entry, f"benchmarks.gpu.{module}", *words]


if __name__ == "__main__":
    sys.exit(main())
