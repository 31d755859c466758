"""Measure the reference Pangu-Weather on the GPUs of this machine and write JSON and a table.

    python -m benchmarks.gpu.run [--output FOLDER] [--only PHASE ...] [--commit ID]

Run it in the repository with the package installed (``pip install .[runtime]``). One or two GPUs; a
second GPU adds NCCL parity and scaling. Just under ten minutes on two H200.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from . import table

PHASES = ("speed", "curves", "correctness", "scaling")
SCALING = (("tp2", "eager"), ("pp2", "compiled"), ("pp2_interleaved", "compiled"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"), help="folder for results")
    parser.add_argument("--only", nargs="+", choices=PHASES, default=PHASES, help="phases to run")
    parser.add_argument("--commit", help="of what is measured; default: that of the repository")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("error: torch sees no GPU on this machine", file=sys.stderr)
        return 1
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
    with tempfile.TemporaryDirectory() as name:
        result["target"] = str(options.output / f"gpu-{result['date']}.json")
        _run_phases(Path(name), options.only, min(gpus, 2), result)
        print(_write(Path(name), result))
    return int(bool(result["failures"]))


def _commit() -> str:
    found = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def _run_phases(folder: Path, only, gpus: int, result: dict) -> None:
    # Phases of one GPU run side by side, each on its own; those of two GPUs come after.
    first = {"CUDA_VISIBLE_DEVICES": "0", "MASTER_PORT": "29511"}
    second = {"CUDA_VISIBLE_DEVICES": str(gpus - 1), "MASTER_PORT": "29512"}
    running = []
    if "speed" in only:
        running.append(("speed", _start(["-m", "benchmarks.gpu.speed", folder], first)))
        if gpus == 1:
            _finish(*running.pop(), 400, folder, result)
    if "curves" in only:
        _finish("curves", _start(["-m", "benchmarks.gpu.curves", folder], second), 200, folder, result)
    if "correctness" in only:
        _finish(
            "correctness 1",
            _start(_launch(1, "correctness", folder, "small", "cuda"), second),
            120,
            folder,
            result,
        )
    for name, process in running:
        _finish(name, process, 400, folder, result)
    if "scaling" in only and gpus > 1:
        pair = [
            (f"scaling one {mode}", _start(_launch(1, "scaling", folder, "one", mode), gpu))
            for mode, gpu in (("eager", first), ("compiled", second))
        ]
        for name, process in pair:
            _finish(name, process, 120, folder, result)
        for layout, mode in SCALING:
            _finish(
                f"scaling {layout} {mode}",
                _start(_launch(2, "scaling", folder, layout, mode), {}),
                100,
                folder,
                result,
            )
    if "correctness" in only:
        for ranks in (2, 4, 8):
            _finish(
                f"correctness {ranks}",
                _start(_launch(ranks, "correctness", folder, "small", "cuda"), {}),
                120,
                folder,
                result,
            )


def _write(folder: Path, result: dict) -> str:
    """Write what there is so far, so that a run cut short keeps it. Returns the table."""
    result["correctness"] = [
        row for path in sorted(folder.glob("correct*.json")) for row in json.loads(path.read_text())
    ]
    result["scaling"] = {
        path.stem[8:]: json.loads(path.read_text()) for path in folder.glob("scaling_*.json")
    }
    for name in ("speed", "curves"):
        path = folder / f"{name}.json"
        result[name] = json.loads(path.read_text()) if path.is_file() else None
    text = table.render(result)
    Path(result["target"]).write_text(json.dumps(result, indent=1) + "\n")
    Path(result["target"]).with_suffix(".md").write_text(text)
    return text


def _launch(ranks: int, module: str, *words) -> list:
    entry = Path(__file__).with_name("entry.py")
    return [
        "-m",
        "onescience_check.runtime.launch",
        "--nproc-per-node",
        ranks,
        entry,
        f"benchmarks.gpu.{module}",
        *words,
    ]


def _start(words: list, environment: dict) -> tuple[subprocess.Popen, float]:
    command = [sys.executable, *map(str, words)]
    return subprocess.Popen(command, env={**os.environ, **environment}), time.monotonic()


def _finish(
    name: str, started: tuple[subprocess.Popen, float], limit: float, folder: Path, result: dict
) -> None:
    process, began = started
    try:
        code = process.wait(limit)
    except subprocess.TimeoutExpired:
        process.terminate()
        process.wait()
        code = f"no end within {limit} s"
    print(f"{name}: status {code} after {time.monotonic() - began:.0f} s", flush=True)
    if code != 0:
        result["failures"].append(f"{name}: {code}")
    _write(folder, result)


if __name__ == "__main__":
    sys.exit(main())
