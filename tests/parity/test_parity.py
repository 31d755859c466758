"""Pangu-Weather over tensor-parallel and pipeline-parallel ranks computes what the plain model computes."""

import functools
from pathlib import Path

import pytest
import torch

from tests import worlds
from tests.parity import case

WORLDS = {1: ["1x1"], 2: ["2x1", "1x2"], 4: ["2x2", "1x4"], 8: ["2x4"]}
CLAIMS = ["outputs", "input gradient", "weight gradients", "loss over 20 steps", "memory"]
CASES = [(size, layout, claim) for size, layouts in WORLDS.items() for layout in layouts for claim in CLAIMS]
CASES += [
    (size, layout, "ranks agree under dropout") for size, layout in [(2, "2x1"), (4, "2x2"), (8, "2x4")]
]


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """Starts the world of a layout when first asked, and returns its lines of output."""
    folder = tmp_path_factory.mktemp("parity")
    results = case.plain_results()
    losses = results["losses"]
    assert losses[-1] < 0.9 * losses[0], "a curve that does not fall would prove little"
    torch.save(results, folder / "plain.pt")
    torch.save(results["weights"], folder / "weights.pt")

    @functools.cache
    def run(size: int) -> list[str]:
        script = Path(__file__).with_name("parity_world.py")
        try:
            output = worlds.run(script, size, folder, *WORLDS[size], limit=480).output
        except AssertionError as error:  # kept, too: a world that hangs would hang again for every claim
            output = str(error)
        return output.splitlines()

    return run


@pytest.mark.parametrize(("size", "layout", "claim"), CASES)
def test_layout_equals_the_plain_model(verdicts, size, layout, claim):
    lines = [line for line in verdicts(size) if line.split(":")[0].endswith(f"{layout} {claim}")]
    assert [line.split()[0] for line in lines] == ["passed"], lines or "\n".join(verdicts(size)[-40:])
