"""The harnesses beside the tests start as their first lines say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def python(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_rank_of_the_gpu_harness_finds_its_modules(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    entry = str(ROOT / "benchmarks/gpu/entry.py")
    launch = ("-m", "onescience_check.runtime.launch", "--nproc-per-node", "2", entry)
    done = python(*launch, "benchmarks.gpu.run", "--help", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("--only") >= 2


@pytest.mark.parametrize(("gpus", "most"), [(1, 1), (2, 2), (4, 4), (8, 8)])
def test_the_gpu_harness_times_every_layout_that_the_gpus_hold(gpus: int, most: int) -> None:
    pytest.importorskip("torch")
    from benchmarks.gpu import models, run

    steps = run._steps(Path("folder"), run.PHASES, gpus)
    jobs = [job for step in steps for lane in step for job in lane]
    timed = [word for job in jobs if "scaling" in job.name for word in job.words if word in models.LAYOUTS]
    assert len(timed) == len(set(timed))
    assert max((models.LAYOUTS[name].ranks for name in timed), default=1) == most
    assert any("full, 4 ranks" in job.name for job in jobs) == (gpus >= 4)
    assert any(job.name == "killed" for job in jobs) == (gpus >= 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="cases run in forked processes")
def test_a_few_cases_of_the_fuzzer(tmp_path: Path) -> None:
    done = python(
        str(ROOT / "tests/fuzz.py"),
        "--seconds",
        "5",
        "--seed",
        "7",
        "--output",
        str(tmp_path),
        folder=tmp_path,
    )
    assert done.returncode == 0, done.stdout
    assert "0 kinds of failure" in done.stdout
