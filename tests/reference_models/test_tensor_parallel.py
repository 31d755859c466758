"""Two tensor-parallel ranks compute what one does, from the same initial weights."""

import socket

import pytest
import torch
import torch.multiprocessing as mp

from onescience_check.reference_models.models.pangu import Pangu
from onescience_check.reference_models.models.pangu.grids import INPUT_CHANNELS
from onescience_check.reference_models.modules.fast_layers import use_fast_layers

from .small_pangu import SMALL, gradient_scale, make_config, make_stages, plain_names, run

TP = 2
FORMS = ("as Megatron has it", "compiled")
BLOCK = "layer1.fuser.blocks.0.transformer."
DROPS = {"drop": 0.1, "attn_drop": 0.1, "drop_path": 0.3}


def shard(full, parameter, rank):
    """The part of a full tensor that Megatron's attributes give to ``rank``."""
    if not getattr(parameter, "tensor_model_parallel", False):
        return full
    return full.chunk(TP, dim=parameter.partition_dim)[rank]


def forward_and_backward(stages, parameters, case):
    """Output and gradients of the stages, one after the other."""
    for parameter in parameters.values():
        parameter.grad = None
    x = case["x"].clone().requires_grad_()
    output = run(stages, x)
    (output * case["upstream"]).sum().backward()
    gradients = {name: p.grad for name, p in parameters.items()} | {"input": x.grad}
    return {"output": output.detach(), "gradients": gradients}


def rank_main(rank, port, folder):
    import os

    os.environ |= {
        "RANK": str(rank),
        "WORLD_SIZE": str(TP),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }
    torch.set_num_threads(1)
    from onescience_check.runtime.process_groups import initialize_process_groups, seed_random_streams

    initialize_process_groups(tensor_model_parallel_size=TP, device="cpu", timeout_minutes=2)
    case = torch.load(folder / "case.pt", weights_only=True)
    result = {}

    torch.manual_seed(0)
    stages = make_stages(make_config(tensor_model_parallel_size=TP), drop_path=0.0)
    parameters = plain_names(stages)
    result["same start"] = [
        n for n, p in parameters.items() if not torch.equal(p, shard(case["start"][n], p, rank))
    ]

    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(shard(case["weights"][name], parameter, rank))
    result["as Megatron has it"] = forward_and_backward(stages, parameters, case)
    for stage in stages:
        use_fast_layers(stage)
    for block in [module for stage in stages for module in stage.modules() if hasattr(module, "blocks")]:
        for part in block.blocks.values():
            part.compile(backend="aot_eager", fullgraph=True)  # an error where the tracing would stop
    result["compiled"] = forward_and_backward(stages, parameters, case)
    result["axes"] = {
        name: p.partition_dim for name, p in parameters.items() if getattr(p, "tensor_model_parallel", False)
    }
    sharded = [stage.sharded_state_dict() for stage in stages]
    result["checkpoint"] = {
        name: (entry.global_shape, entry.global_offset)
        for part in sharded
        for name, entry in part.items()
        if not name.endswith("_extra_state")
    }

    torch.manual_seed(0)
    stages = make_stages(make_config(tensor_model_parallel_size=TP), **DROPS)
    seed_random_streams(7)
    result["dropped output"] = run(stages, case["x"].detach()).detach()
    torch.save(result, folder / f"rank{rank}.pt")
    torch.distributed.destroy_process_group()


@pytest.fixture(scope="module")
def ranks(world, tmp_path_factory):
    """What the plain model and each of two ranks computed."""
    folder = tmp_path_factory.mktemp("tensor_parallel")
    torch.manual_seed(0)
    start = {name: p.detach() for name, p in plain_names(make_stages(make_config(), drop_path=0.0)).items()}
    torch.manual_seed(1)
    plain = Pangu(**SMALL, drop_path=0.0)
    for name, parameter in plain.named_parameters():
        if name.endswith("bias_table"):
            torch.nn.init.normal_(parameter)
    x = torch.randn(1, INPUT_CHANNELS, *SMALL["img_size"], requires_grad=True)
    upstream = torch.randn(1, 69, *SMALL["img_size"])
    weights = {name: p.detach() for name, p in plain.named_parameters()}
    torch.save(
        {"start": start, "weights": weights, "x": x.detach(), "upstream": upstream}, folder / "case.pt"
    )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    context = mp.spawn(rank_main, (port, folder), nprocs=TP, join=False)
    output = plain(x)
    (output * upstream).sum().backward()
    context.join()
    expected = {"output": output.detach()}
    expected["gradients"] = {name: p.grad for name, p in plain.named_parameters()} | {"input": x.grad}
    return expected, [torch.load(folder / f"rank{rank}.pt", weights_only=True) for rank in range(TP)]


def test_initial_weights_are_the_same_at_every_tensor_parallel_size(ranks):
    assert [result["same start"] for result in ranks[1]] == [[], []]


@pytest.mark.parametrize("form", FORMS)
def test_output_equals_the_plain_model(ranks, form):
    expected, results = ranks
    for result in (result[form] for result in results):
        # Float32, 6e-8 a rounding: an all-reduce adds in another order than one product over all channels.
        torch.testing.assert_close(result["output"], expected["output"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_every_gradient_equals_the_plain_model(ranks, form):
    expected, results = ranks
    for name, reference in expected["gradients"].items():
        axis = results[0]["axes"].get(name)
        parts = [result[form]["gradients"][name] for result in results]
        if axis is None:
            assert torch.equal(parts[0], parts[1]), name  # replicated: ranks must not drift apart
        actual = parts[0] if axis is None else torch.cat(parts, dim=axis)
        # Sums over up to 3e3 tokens in another order: sqrt(3e3) * 6e-8 = 3e-6 of the terms that cancel.
        atol = 1e-5 * gradient_scale(expected["gradients"], name)
        torch.testing.assert_close(actual, reference, rtol=1e-4, atol=atol, msg=name)


def test_heads_and_channels_are_split(ranks):
    axes = {
        name.removeprefix(BLOCK): axis for name, axis in ranks[1][0]["axes"].items() if name.startswith(BLOCK)
    }
    assert axes == {
        "attn.attention.earth_position_bias_table": 1,
        "attn.attention.q_proj.weight": 0,
        "attn.attention.q_proj.bias": 0,
        "attn.attention.k_proj.weight": 0,
        "attn.attention.k_proj.bias": 0,
        "attn.attention.v_proj.weight": 0,
        "attn.attention.v_proj.bias": 0,
        "attn.attention.proj.weight": 1,
        "mlp.mlp.fc1.weight": 0,
        "mlp.mlp.fc1.bias": 0,
        "mlp.mlp.fc2.weight": 1,
    }


def test_sharded_checkpoints_hold_whole_parameters_by_their_plain_names(ranks):
    expected, results = ranks
    shapes = {
        name: tuple(gradient.shape) for name, gradient in expected["gradients"].items() if name != "input"
    }
    for rank, result in enumerate(results):
        assert {name: shape for name, (shape, _) in result["checkpoint"].items()} == shapes
        for name, (shape, offset) in result["checkpoint"].items():
            axis = result["axes"].get(name)
            assert offset == tuple(
                rank * size // TP if place == axis else 0 for place, size in enumerate(shape)
            ), name


def test_ranks_agree_with_dropout_and_drop_path(ranks):
    first, second = (result["dropped output"] for result in ranks[1])
    assert torch.equal(first, second)
    assert not torch.allclose(first, ranks[1][0]["compiled"]["output"])
