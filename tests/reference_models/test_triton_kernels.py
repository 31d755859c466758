"""The Triton kernels compute what torch computes. No GPU: Triton's interpreter runs them on the CPU."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROUNDING = 2.0**-24
FOLDER = Path(__file__).parent


@pytest.fixture(scope="module")
def errors():
    """Largest relative error of each result, by its name."""
    pytest.importorskip("triton")
    ran = subprocess.run(
        [sys.executable, FOLDER / "triton_kernels.py"],
        env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return {name: float(error) for name, error in (line.split("\t") for line in ran.stdout.splitlines())}


@pytest.mark.parametrize("kernel", ["attention", "GELU"])
def test_kernels_agree_with_float64(errors, kernel):
    own = {name: error for name, error in errors.items() if name.startswith(kernel)}
    assert len(own) >= 9
    # Sums of up to 1e3 float32 products, and exponentials good to a few roundings: 30 roundings leave room.
    assert {name: error for name, error in own.items() if not error <= 30 * ROUNDING} == {}
