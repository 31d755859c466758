"""Where a fault shows in one process, the bad example fails as the rule says, and the repaired one runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from onescience_check.checkers.rules import all_rules

from .test_advice import repaired, write_example

torch = pytest.importorskip("torch")
Names = dict[str, Any]


def restores_the_field(names: Names) -> None:
    block = names["ShiftedBlock"]()
    block.shift_size, block.attn = (1, 2), torch.nn.Identity()
    field = torch.arange(48.0).reshape(1, 4, 6, 2)
    assert torch.equal(block(field), field)


def runs_without_a_mask(names: Names) -> None:
    fuser, field = names["IceDistributedFuser"](), torch.ones(2)
    for given in ({"x": field}, SimpleNamespace(x=field), {"x": field, "mask": 2 * field}):
        assert fuser(given).shape == field.shape


def runs_its_block(names: Names) -> None:
    assert names["IceFuser"]()({"x": torch.ones(2)}).tolist() == [2, 2]


def hands_the_input_on(names: Names) -> None:
    stage = names["NetStage"](4, pre_process=False)
    stage.set_input_tensor([torch.ones(1, 4)])
    assert stage().shape == (1, 4)


def sends_contiguous_tensors(names: Names) -> None:
    assert all(tensor.is_contiguous() for tensor in names["Net_stage0"](4)(torch.ones(1, 3, 4)))


def sends_a_tuple(names: Names) -> None:
    assert isinstance(names["Net_stage0"](4)(torch.ones(1, 4)), tuple)


def returns_the_result_alone(names: Names) -> None:
    stage = names["Net_stage1"](4)
    stage.set_input_tensor([torch.ones(1, 4), torch.ones(1, 4)])
    assert torch.is_tensor(stage())


def compares_with_the_label(names: Names) -> None:
    batches = iter([(torch.ones(3), torch.zeros(3))])
    output, loss_func = names["forward_step"](batches, torch.nn.Identity())
    assert loss_func(output)[0].item() == 1


def says_what_it_needs(names: Names) -> None:
    with pytest.raises(ValueError, match="config"):
        names["IceDistributedMlp"](4)


RUNS: dict[str, Callable[[Names], None]] = {
    "roll-unroll-mismatch": restores_the_field,
    "fuser-mask-access-unsafe": runs_without_a_mask,
    "submodule-not-given-dict": runs_its_block,
    "set-input-tensor-not-forwarded": hands_the_input_on,
    "stage-output-not-contiguous": sends_contiguous_tensors,
    "stage-output-not-tuple": sends_a_tuple,
    "last-stage-packs-passthrough": returns_the_result_alone,
    "loss-label-binding": compares_with_the_label,
    "style-arguments-rejected": lambda names: names["Model_stage0"](4),
    "unknown-module-style": lambda names: names["Block"](4),
    "config-none-dereferenced": says_what_it_needs,
}

SYMPTOMS = (
    AssertionError,
    AttributeError,
    IndexError,
    KeyError,
    NotImplementedError,
    RuntimeError,
    TypeError,
)


@pytest.mark.parametrize("symbol", RUNS)
def test_the_repaired_example_runs(symbol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = next(rule for rule in all_rules() if rule.symbol == symbol)
    if "megatron" in rule.bad:
        pytest.importorskip("megatron.core.tensor_parallel")
    monkeypatch.chdir(tmp_path)
    write_example(tmp_path, rule, "bad")
    with pytest.raises(SYMPTOMS):
        RUNS[symbol](defined(tmp_path))
    repaired(tmp_path, rule)
    RUNS[symbol](defined(tmp_path))


def defined(folder: Path) -> Names:
    """What the example defines."""
    names: Names = {"__name__": "example"}
    exec(compile((folder / "example.py").read_text(), "example.py", "exec"), names)
    return names
