"""The four stages, one after the other in one process, are the plain model."""

import pytest
import torch

from onescience_check.reference_models.models.pangu import Pangu
from onescience_check.reference_models.models.pangu.grids import INPUT_CHANNELS, token_grids

from .small_pangu import (
    RECOMPUTE,
    SMALL,
    gradient_scale,
    load_plain,
    make_config,
    make_stages,
    plain_names,
    run,
)


@pytest.mark.parametrize("depths", [(2, 4, 4, 2), (1, 2, 2, 1), (2, 3, 5, 1), (2, 1, 1, 2)])
def test_stages_hold_the_parameters_of_the_plain_model_once(world, depths):
    plain = Pangu(**SMALL | {"depths": depths})
    stages = make_stages(make_config(), depths=depths)
    names = [name for stage in stages for name, _ in stage.named_parameters()]
    assert sorted(names) == sorted(name for name, _ in plain.named_parameters())
    shapes = {name: p.shape for name, p in plain.named_parameters()}
    assert {name: p.shape for name, p in plain_names(stages).items()} == shapes


@pytest.mark.parametrize("recompute", [{}, RECOMPUTE], ids=["keep", "recompute"])
@pytest.mark.parametrize("depths", [(2, 4, 4, 2), (1, 2, 2, 1)])
def test_folded_stages_equal_the_plain_model(world, depths, recompute):
    torch.manual_seed(0)
    plain = Pangu(**SMALL | {"depths": depths}, drop_path=0.0)
    stages = make_stages(make_config(**recompute), depths=depths, drop_path=0.0)
    load_plain(stages, plain)
    x = torch.randn(1, INPUT_CHANNELS, *SMALL["img_size"], requires_grad=True)
    x_stages = x.detach().clone().requires_grad_()
    upstream = torch.randn(1, 69, *SMALL["img_size"])
    expected, actual = plain(x), run(stages, x_stages)
    # Float32 rounds at 6e-8; sums over up to 3e3 tokens, in an order of their own in Megatron's flattened
    # weight gradients and in the attention kernel that runs without gradients, differ by sqrt(3e3) * 6e-8 =
    # 3e-6 of the terms that cancel in them.
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)
    if not recompute:
        assert torch.equal(actual, expected)  # the same operations on the same operands in the same order
    (expected * upstream).sum().backward()
    (actual * upstream).sum().backward()
    gradients = {name: p.grad for name, p in plain_names(stages).items()} | {"input": x_stages.grad}
    references = {name: p.grad for name, p in plain.named_parameters()} | {"input": x.grad}
    for name, reference in references.items():
        atol = 1e-5 * gradient_scale(references, name)
        torch.testing.assert_close(gradients[name], reference, rtol=1e-4, atol=atol, msg=name)


def test_recomputed_stages_draw_the_same_dropout(world):
    arguments = {"drop": 0.1, "attn_drop": 0.1, "drop_path": 0.3}
    results = []
    for recompute in ({}, RECOMPUTE):
        torch.manual_seed(0)
        stages = make_stages(make_config(**recompute), **arguments)
        from onescience_check.runtime.process_groups import seed_random_streams

        seed_random_streams(7)
        x = torch.randn(1, INPUT_CHANNELS, *SMALL["img_size"])
        run(stages, x).square().mean().backward()
        results.append({name: p.grad for name, p in plain_names(stages).items()})
    kept, recomputed = results
    assert all(torch.equal(kept[name], recomputed[name]) for name in kept)


def test_drop_path_rates_of_the_stages_tile_those_of_the_plain_model(world):
    def rates(model):
        return [m.rate for m in model.modules() if type(m).__name__ == "DropPath"]

    with torch.device("meta"):
        plain = Pangu()
    stages = make_stages(make_config(), depths=(2, 6, 6, 2))
    assert [rate for stage in stages for rate in rates(stage)] == rates(plain)


def test_boundaries_carry_two_contiguous_tensors_of_the_coarse_and_fine_grid(world):
    stages = make_stages(make_config())
    (_, fine_y, fine_x), (levels, coarse_y, coarse_x) = token_grids(SMALL["img_size"], SMALL["patch_size"])
    output = stages[0](torch.randn(1, INPUT_CHANNELS, *SMALL["img_size"]))
    for stage in stages[1:]:
        assert isinstance(output, tuple)
        x, skip = output
        assert x.shape == (1, levels * coarse_y * coarse_x, 2 * SMALL["embed_dim"])
        assert skip.shape == (1, levels * fine_y * fine_x, SMALL["embed_dim"])
        assert x.is_contiguous() and skip.is_contiguous() and x.data_ptr() != skip.data_ptr()
        stage.set_input_tensor(list(output))
        output = stage(None)


def test_full_size_stages_cost_the_same(world):
    """Counted operations of whole stages, embedding and sampling included, within 20 % of their mean."""
    from torch.utils.flop_counter import FlopCounterMode

    size = {
        "img_size": (721, 1440),
        "embed_dim": 192,
        "num_heads": (6, 12, 12, 6),
        "depths": (2, 6, 6, 2),
        "drop_path": 0.0,
    }
    with torch.device("meta"):
        stages = make_stages(make_config(), **size)
        output = torch.empty(1, INPUT_CHANNELS, 721, 1440)
        costs = []
        for index, stage in enumerate(stages):
            if index:
                stage.set_input_tensor(output)
            with FlopCounterMode(display=False) as counter:
                output = stage(output if index == 0 else None)
            costs.append(counter.get_total_flops())
    mean = sum(costs) / len(costs)
    assert [cost / mean for cost in costs] == pytest.approx([1, 1, 1, 1], abs=0.2)


def test_bfloat16_with_recomputation_trains(world):
    config = make_config(**RECOMPUTE, bf16=True, params_dtype=torch.bfloat16, pipeline_dtype=torch.bfloat16)
    torch.manual_seed(0)
    stages = [stage.bfloat16() for stage in make_stages(config, drop_path=0.0)]
    x = torch.randn(1, INPUT_CHANNELS, *SMALL["img_size"], dtype=torch.bfloat16)
    parameters = list(plain_names(stages).values())
    optimizer = torch.optim.SGD(parameters, lr=0.05)
    losses = []
    for _ in range(4):
        loss = (run(stages, x).float() - x[:, :69].float()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_stages_name_what_is_wrong(world):
    with pytest.raises(AssertionError, match="what stage 0 returned"):
        make_stages(make_config())[1](None)
    config = make_config(num_attention_heads=4, tensor_model_parallel_size=4)
    with pytest.raises(
        ValueError, match=r"num_heads \(2\) must be a multiple of the tensor-parallel size \(4\)"
    ):
        make_stages(config)
