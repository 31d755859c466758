"""The four stages of Xihe, one after the other in one process, are the plain model."""

import numpy as np
import pytest
import torch

from onescience_check.reference_models.models import xihe_distributed_4stage as package
from onescience_check.reference_models.models.xihe import Xihe
from onescience_check.reference_models.models.xihe.grids import token_grids
from tests.parity.case import make_sensitive, scale_of

from .small_pangu import RECOMPUTE, load_plain, make_config, plain_names, run
from .small_xihe import SMALL, make_mask

TINY = SMALL | {"img_size": (21, 32), "patch_size": (2, 2)}
MASK = make_mask(TINY["img_size"])


def make_stages(config, **arguments):
    stages = [package.Xihe_stage0, package.Xihe_stage1, package.Xihe_stage2, package.Xihe_stage3]
    return [stage(**TINY | arguments, config=config) for stage in stages]


@pytest.mark.parametrize("num_local", [(1, 2, 2, 2, 1), (2, 1, 1, 1, 1), (1, 1, 3, 2, 2)])
def test_stages_hold_the_parameters_of_the_plain_model_once(world, num_local):
    plain = Xihe(**TINY, num_local=num_local)
    stages = make_stages(make_config(), num_local=num_local)
    names = [name for stage in stages for name, _ in stage.named_parameters()]
    assert sorted(names) == sorted(name for name, _ in plain.named_parameters())
    shapes = {name: p.shape for name, p in plain.named_parameters()}
    assert {name: p.shape for name, p in plain_names(stages).items()} == shapes


@pytest.mark.parametrize("recompute", [{}, RECOMPUTE], ids=["keep", "recompute"])
@pytest.mark.parametrize("mask", [MASK, None], ids=["masked", "no land"])
def test_folded_stages_equal_the_plain_model(world, recompute, mask):
    torch.manual_seed(0)
    plain = Xihe(**TINY, drop_path=0.0, mask_full=mask).double()
    make_sensitive(plain)
    stages = [
        stage.double() for stage in make_stages(make_config(**recompute), drop_path=0.0, mask_full=mask)
    ]
    load_plain(stages, plain)
    x = torch.randn(1, 6, *TINY["img_size"], dtype=torch.float64, requires_grad=True)
    x_stages = x.detach().clone().requires_grad_()
    expected, actual = plain(x), run(stages, x_stages)
    torch.testing.assert_close(actual, expected, rtol=1e-10, atol=1e-12)
    if not recompute:
        assert torch.equal(actual, expected)  # the same operations on the same operands in the same order
    upstream = torch.randn_like(expected)
    (expected * upstream).sum().backward()
    (actual * upstream).sum().backward()
    gradients = {name: p.grad for name, p in plain_names(stages).items()} | {"input": x_stages.grad}
    references = {name: p.grad for name, p in plain.named_parameters()} | {"input": x.grad}
    for name, reference in references.items():
        # Sums over up to 176 tokens, in an order of their own in Megatron's flattened weight gradients, in float64:
        # sqrt(176) * 1e-16 of the terms that cancel in them, for each of the layers that the gradient passed.
        atol = 1e-12 * scale_of(name, references)
        torch.testing.assert_close(gradients[name], reference, rtol=1e-10, atol=atol, msg=name)


def test_recomputed_stages_draw_the_same_dropout(world):
    from onescience_check.runtime.process_groups import seed_random_streams

    results = []
    for recompute in ({}, RECOMPUTE):
        torch.manual_seed(0)
        rates = {"drop": 0.1, "attn_drop": 0.1, "drop_path": 0.3}
        stages = make_stages(make_config(**recompute), mask_full=MASK, **rates)
        seed_random_streams(7)
        run(stages, torch.randn(1, 6, *TINY["img_size"])).square().mean().backward()
        results.append({name: p.grad for name, p in plain_names(stages).items()})
    kept, recomputed = results
    assert all(torch.equal(kept[name], recomputed[name]) for name in kept)


def test_drop_path_rates_of_the_stages_tile_those_of_the_plain_model(world):
    def rates(model):
        return [m.rate for m in model.modules() if type(m).__name__ == "DropPath"]

    assert [rate for stage in make_stages(make_config()) for rate in rates(stage)] == rates(Xihe(**TINY))


def test_every_stage_takes_the_mask_as_path_or_array(world, tmp_path):
    np.save(tmp_path / "mask.npy", MASK.numpy())
    for given in (str(tmp_path / "mask.npy"), MASK.numpy()):
        stages = make_stages(make_config(), mask_full=given)
        assert all(torch.equal(stage.mask_full, MASK) for stage in stages)
    assert not any("mask_full" in name for stage in stages for name in stage.state_dict())


def test_boundaries_carry_two_contiguous_tensors_of_the_coarse_and_fine_grid(world):
    stages = make_stages(make_config(), mask_full=MASK)
    (_, fine_y, fine_x), (_, coarse_y, coarse_x) = token_grids(TINY["img_size"], TINY["patch_size"])
    output = stages[0](torch.randn(1, 6, *TINY["img_size"]))
    for stage in stages[1:]:
        x, skip = output
        assert x.shape == (1, coarse_y * coarse_x, 32) and skip.shape == (1, fine_y * fine_x, 16)
        assert x.is_contiguous() and skip.is_contiguous() and x.data_ptr() != skip.data_ptr()
        stage.set_input_tensor(list(output))
        output = stage(None)


def test_full_size_stages_cost_the_same(world):
    """Counted operations of whole stages, embedding and recovery included, within 20 % of their mean."""
    from torch.utils.flop_counter import FlopCounterMode

    classes = [package.Xihe_stage0, package.Xihe_stage1, package.Xihe_stage2, package.Xihe_stage3]
    with torch.device("meta"):
        stages = [stage(drop_path=0.0, config=make_config()) for stage in classes]
        output = torch.empty(1, 96, 2041, 4320)
        costs = []
        for index, stage in enumerate(stages):
            if index:
                stage.set_input_tensor(output)
            with FlopCounterMode(display=False) as counter:
                output = stage(output if index == 0 else None)
            costs.append(counter.get_total_flops())
    mean = sum(costs) / len(costs)
    assert [cost / mean for cost in costs] == pytest.approx([1, 1, 1, 1], abs=0.2)


def test_stages_name_what_is_wrong(world):
    with pytest.raises(AssertionError, match="what stage 0 returned"):
        make_stages(make_config())[1](None)
    config = make_config(num_attention_heads=4, tensor_model_parallel_size=4)
    with pytest.raises(
        ValueError, match=r"num_heads \(2\) must be a multiple of the tensor-parallel size \(4\)"
    ):
        make_stages(config)
