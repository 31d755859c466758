"""The parts of a verification that need no model."""

import sys
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from onescience_check.runtime.verify import differences, matching, overrides, placements, tree
from onescience_check.runtime.verify.comparing import Reference
from onescience_check.runtime.verify.draws import KeepAll
from onescience_check.runtime.verify.plan import Plan
from onescience_check.runtime.verify.results import Finding, merged


def test_a_setting_is_a_dotted_key_and_a_yaml_value():
    assert overrides.parse_setting("model.depths=[1, 2]") == ("model.depths", [1, 2])
    with pytest.raises(ValueError, match="KEY=VALUE"):
        overrides.parse_setting("model.depths")


def test_settings_are_put_where_their_keys_lead():
    files = overrides.ConfigFiles({"model.dim": 8, "other.dim": 9})
    data = {"model": {"dim": 192}}
    files.change(data)
    assert data == {"model": {"dim": 8}}
    assert files.used == {"model.dim"}


def test_small_sizes_have_two_windows_along_each_axis_of_the_coarser_grid():
    full = {
        "model": {"patch_size": [2, 4, 4], "embed_dim": 192, "num_heads": [6, 12], "window_size": [2, 6, 12]},
        "dataset": {"img_size": [721, 1440]},
    }
    small = overrides.small([full], padded=True)
    rows, columns = small["dataset.img_size"]
    window = small["model.window_size"]
    coarse = [-(-rows // 4) / 2, -(-columns // 4) / 2]
    assert all(cells > side for cells, side in zip(coarse, window[1:], strict=True))
    assert small["model.embed_dim"] % 12 == 0


@pytest.mark.parametrize(
    ("names", "wanted", "expected"),
    [
        (["a.weight"], ["a.weight", "b.weight"], {"a.weight": "a.weight"}),
        (["module.a.weight"], ["a.weight"], {"module.a.weight": "a.weight"}),
        (["x.weight"], ["a.weight", "b.weight"], {}),
    ],
)
def test_parameters_are_matched_by_name_or_by_the_only_like_end(names, wanted, expected):
    assert matching.originals(names, wanted, {}) == expected


def test_a_naming_table_matches_the_rest():
    assert matching.originals(["enc.0.w"], ["layer.0.w"], {r"^enc\.": "layer."}) == {"enc.0.w": "layer.0.w"}


def test_rounding_is_no_difference_and_a_wrong_number_is():
    value = torch.randn(100)
    reference = Reference.of(value, value * (1 + 1e-7))
    assert reference.difference(value * (1 + 3e-7)) < 1
    assert reference.difference(value + 1e-2) > 1
    assert reference.difference(value[:50], size=2, rank=0) == 0
    assert reference.difference(value[:30]) is None


def test_without_draws_a_dropout_scales_by_its_rate():
    x = torch.ones(10)
    with KeepAll():
        assert torch.equal(F.dropout(x, 0.5, training=True), 2 * x)
        assert torch.equal(nn.Dropout(0.5)(x), 2 * x)
        assert torch.equal(nn.Dropout(0.5).eval()(x), x)
        assert torch.equal(x.new_empty(10).bernoulli_(0.1), x)
        q = torch.randn(1, 1, 4, 8)
        with_rate = F.scaled_dot_product_attention(q, q, q, dropout_p=0.5)
    assert torch.allclose(with_rate, 2 * F.scaled_dot_product_attention(q, q, q))


MADE_UP = ("vendor", "user_code", "user_guard", "package_that_is_not_there", "other_missing")


@pytest.fixture
def finders(tmp_path):
    """The plan's import finders for a tree in `tmp_path`, taken out again."""
    path, finders, kept = list(sys.path), list(sys.meta_path), set(sys.modules)

    def install(**options):
        tree.install(Plan(str(tmp_path / "train.py"), roots=(str(tmp_path),), **options))

    yield install
    sys.path[:], sys.meta_path[:] = path, finders
    for name in set(sys.modules) - kept:
        if name.split(".")[0] in MADE_UP:  # torch and megatron, once imported, cannot be imported again
            del sys.modules[name]


def test_an_alias_is_the_very_module(finders):
    finders(aliases={"vendor.mathematics": "math"}, stubs=("vendor",))
    import math

    import vendor.mathematics

    assert vendor.mathematics is math
    assert math.__name__ == "math"


def test_training_names_of_megatron_are_served_by_the_runtime(finders):
    finders(aliases={"vendor.megatron": "megatron"}, stubs=("vendor",))
    from vendor.megatron.training import get_args

    from onescience_check.runtime.flags import get_args as ours

    assert get_args is ours


def test_a_missing_package_stands_in_until_it_is_used(finders, tmp_path):
    (tmp_path / "user_code.py").write_text("import package_that_is_not_there as p\nclass A(p.Base): pass\n")
    (tmp_path / "user_guard.py").write_text(
        "try:\n    import other_missing\nexcept ImportError:\n    other_missing = None\n"
    )
    finders()
    import user_code
    import user_guard

    assert user_guard.other_missing is None
    with pytest.raises(tree.MissingModuleError, match=r"package_that_is_not_there\.load is needed here"):
        user_code.p.load("x", "y")


def test_the_same_fault_on_two_ranks_is_one():
    faults = [Finding("crash", f"E: {rank}", 1, (rank,), path="a.py", line=3) for rank in (0, 1)]
    [fault] = merged(faults)
    assert fault.ranks == (0, 1)


def test_a_rank_that_died_is_not_the_one_that_lost_it():
    died = Finding("crash", "the process was killed by SIGKILL", None, (1,))
    lost = Finding("crash", "RuntimeError: Connection reset by peer", None, (0,))
    assert merged([lost, died]) == [lost, died]


def test_what_a_stage_hands_on_may_come_from_the_stages_before():
    noted = []
    run = SimpleNamespace(
        count=3, holds=lambda number, path: number == 2, add=lambda *given: noted.append(given)
    )
    differences._blame(run, ("join", "in"), "the result is off", is_forward=True)
    differences._blame(run, ("block.join", "in"), "the result is off", is_forward=True)
    assert [(path, list(senders)) for *_, path, _, senders in noted] == [("", [0, 1]), ("block", [])]


@pytest.mark.parametrize(
    ("by_tokens", "width", "word"), [(True, 4, "whole"), (True, 2, "split"), (False, 4, "split")]
)
def test_own_tokens_with_all_their_channels_are_no_split_input(by_tokens, width, word):
    layer = type("ColumnParallelLinear", (nn.Module,), {"forward": lambda self, x: x, "input_size": 4})()
    run = SimpleNamespace(
        stages=[layer],
        tracker=SimpleNamespace(built={id(layer): ("m.py", 3)}),
        script=SimpleNamespace(args=SimpleNamespace(sequence_parallel=by_tokens)),
        from_tp_ranks=lambda seen: [seen, {"m.py:3": "of another rank"}],
    )
    inputs = placements.Inputs(run)
    layer(torch.ones(3, width))
    assert inputs.compared() == {"m.py:3": word}
