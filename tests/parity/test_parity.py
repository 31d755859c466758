"""Pangu-Weather and Xihe over tensor-parallel and pipeline-parallel ranks compute what the plain models compute."""

import functools
from pathlib import Path

import pytest
import torch

from tests import worlds
from tests.parity import case

# tensor x pipeline, and x window-parallel ranks
WORLDS = {1: ["1x1"], 2: ["2x1", "1x2", "1x1x2"], 4: ["2x2", "1x4", "2x1x2", "1x2x2"], 8: ["2x4"]}
CLAIMS = ["outputs", "input gradient", "weight gradients", "loss"]
AGREE = "ranks agree under dropout"


def cases():
    """(size of the world, layout, claim) of all claims."""
    for size, layouts in WORLDS.items():
        for layout in layouts:
            yield size, layout, "memory"
            for model in case.cases_of(layout):
                for claim in [*CLAIMS, AGREE] if layout[0] != "1" else CLAIMS:
                    yield size, layout, f"{model.name} {claim}"


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """Starts the world of a layout when first asked, and returns its lines of output."""
    folder = tmp_path_factory.mktemp("parity")
    for name, model in case.CASES.items():
        results = case.plain_results(model)
        losses = results["losses"]
        # A curve that does not fall as far would prove less.
        assert losses[-1] < (1 - 0.8 * model.loss_falls_by) * losses[0], losses
        torch.save(results, folder / f"{name}.pt")
        torch.save(results["weights"], folder / f"{name}_weights.pt")

    @functools.cache
    def run(size: int) -> list[str]:
        script = Path(__file__).with_name("parity_world.py")
        try:
            output = worlds.run(script, size, folder, *WORLDS[size], limit=480).output
        except AssertionError as error:  # kept, too: a world that hangs would hang again for every claim
            output = str(error)
        return output.splitlines()

    return run


@pytest.mark.parametrize(("size", "layout", "claim"), list(cases()))
def test_layout_equals_the_plain_model(verdicts, size, layout, claim):
    lines = [line for line in verdicts(size) if line.split(":")[0].endswith(f" {layout} {claim}")]
    assert [line.split()[0] for line in lines] == ["passed"], lines or "\n".join(verdicts(size)[-40:])
