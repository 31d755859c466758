"""Kill a rank in the middle of a training: the others must stop and say so, and it must go on as if nothing had been.

python -m benchmarks.gpu.killed FOLDER RANKS         writes FOLDER/killed.json

The distributed Pangu example at its small size, on GPUs or CPUs: stages first, then two tensor-parallel ranks in each.
"""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "reference_models/examples/earth/pangu_weather_distributed_4stage/train.py"
ITERATIONS, SAVE_EVERY, KILL_AFTER = 12, 4, 6
LIMIT = 240  # seconds that a training may take
LOSSES = ("iteration", "lm loss", "grad_norm", "consumed_samples")


def main(folder: Path, ranks: int) -> int:
    """Train in one go, then again with a rank killed and resumed; 0 if all stopped in a minute and the losses agree."""
    data = ["-m", "onescience_check.runtime.era5_generator", "data/era5", "--img-size", "48", "96"]
    subprocess.run([sys.executable, *data], cwd=folder, check=True)
    stages = 4 if ranks >= 4 else ranks
    tensor = 2 if ranks >= 2 * stages else 1
    result = {"ranks": ranks, "tp": tensor, "pp": stages, "iterations": ITERATIONS, "victim": ranks // 2}

    whole = _start(folder, "whole", ranks, tensor, stages)
    whole.communicate(timeout=LIMIT)
    broken = _start(folder, "broken", ranks, tensor, stages)
    _wait_for(folder / "broken/log/loss.csv", broken)
    os.kill(_children(broken)[result["victim"]], signal.SIGKILL)
    killed = time.monotonic()
    said, _ = broken.communicate(timeout=LIMIT)
    named = [line for line in said.splitlines() if f"rank {result['victim']} " in line]
    result |= {"seconds": time.monotonic() - killed, "status": broken.returncode}
    result |= {"iteration": len(_losses(folder, "broken")), "message": named[-1] if named else said[-300:]}
    result["resumed_from"] = max(int(path.name[5:]) for path in folder.glob("broken/save/iter_*"))
    resumed = _start(folder, "broken", ranks, tensor, stages)
    resumed.communicate(timeout=LIMIT)
    result["same_losses"] = _losses(folder, "whole") == _losses(folder, "broken")
    (folder / "killed.json").write_text(json.dumps(result))
    print(result, flush=True)
    stopped = named and result["status"] != 0 and result["seconds"] < 60
    return int(not (stopped and result["same_losses"] and len(_losses(folder, "whole")) == ITERATIONS))


def _start(folder: Path, name: str, ranks: int, tensor: int, stages: int) -> subprocess.Popen:
    """A training that saves in FOLDER/NAME, and goes on with what is there."""
    words = ["--nproc-per-node", ranks, SCRIPT, "--tensor-model-parallel-size", tensor]
    words += ["--pipeline-model-parallel-size", stages, "--global-batch-size", 4, "--train-iters", ITERATIONS]
    words += ["--save", f"{name}/save", "--load", f"{name}/save", "--save-interval", SAVE_EVERY]
    words += ["--log-dir", f"{name}/log"]
    command = [sys.executable, "-m", "onescience_check.runtime.launch", *map(str, words)]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(command, cwd=folder, **streams)


def _children(process: subprocess.Popen) -> list[int]:
    """Process ids of the ranks, which are started in their order; where they are spawned, so is a tracker."""
    children = map(int, Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split())
    return sorted(
        pid for pid in children if b"resource_tracker" not in Path(f"/proc/{pid}/cmdline").read_bytes()
    )


def _wait_for(curve: Path, process: subprocess.Popen) -> None:
    """Until the training has done so many iterations that it should be killed."""
    deadline = time.monotonic() + LIMIT
    while not curve.is_file() or len(curve.read_text().splitlines()) <= KILL_AFTER:
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            sys.exit(
                f"error: the training did not get to iteration {KILL_AFTER}:\n{process.communicate()[0][-3000:]}"
            )
        time.sleep(0.05)


def _losses(folder: Path, name: str) -> list[tuple[str, ...]]:
    with open(folder / name / "log/loss.csv", newline="", encoding="utf-8") as file:
        return [tuple(row[column] for column in LOSSES) for row in csv.DictReader(file)]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2])))
