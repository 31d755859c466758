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
