"""The optimizer against torch's own, in a world of one CPU rank."""

import pytest
import torch
from torch import nn

from onescience_check.runtime import process_groups
from onescience_check.runtime.flags import parse_args, set_args
from onescience_check.runtime.training.optimizer import MasterWeightAdamW

SHAPES = {"layer.weight": (3, 4), "layer.bias": (4,)}


@pytest.fixture
def one_rank(monkeypatch):
    """Flags for large steps, gradients clipped at 1."""
    for name in ("RANK", "WORLD_SIZE", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MASTER_PORT", "0")
    parse_args(argv=["--lr", "0.1", "--clip-grad", "1.0", "--weight-decay", "0.0"])
    process_groups.initialize_process_groups(device="cpu", timeout_minutes=1)
    yield
    process_groups.destroy_process_groups()
    set_args(None)


def make_parameters(dtype) -> dict[str, nn.Parameter]:
    generator = torch.Generator().manual_seed(0)
    return {
        name: nn.Parameter(torch.randn(shape, generator=generator).to(dtype))
        for name, shape in SHAPES.items()
    }


def backward(parameters, scale: float, seed: int) -> None:
    """Random gradients of this size, through autograd: hooks run."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in parameters.values():
        upstream = scale * torch.randn(parameter.shape, generator=generator)
        (parameter * upstream.to(parameter.dtype)).sum().backward()


@pytest.mark.parametrize("scale", [0.01, 10.0])
def test_steps_are_those_of_torch_with_clipped_gradients(one_rank, scale):
    ours, theirs = make_parameters(torch.float32), make_parameters(torch.float32)
    optimizer = MasterWeightAdamW(ours)
    adam = torch.optim.AdamW(theirs.values(), lr=0.1, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0)
    for group in optimizer.param_groups:
        group["weight_decay"] = 0.0
    for step in range(3):
        backward(ours, scale, step)
        backward(theirs, scale, step)
        wanted = nn.utils.clip_grad_norm_(theirs.values(), 1.0)
        adam.step()
        adam.zero_grad()
        torch.testing.assert_close(optimizer.step().float(), wanted)
    for name in SHAPES:
        torch.testing.assert_close(ours[name], theirs[name], msg=name)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_gradient_that_is_not_finite_changes_nothing(one_rank, dtype, bad):
    parameters = make_parameters(dtype)
    optimizer = MasterWeightAdamW(parameters)
    backward(parameters, 1.0, 0)
    optimizer.step()
    before = {name: p.detach().clone() for name, p in parameters.items()}
    state = {name: {k: v.clone() for k, v in entry.items()} for name, entry in optimizer.state_dict().items()}

    backward(parameters, bad, 1)
    assert not optimizer.step().isfinite()
    for name, parameter in parameters.items():
        assert torch.equal(parameter, before[name]), name
    for name, entry in optimizer.state_dict().items():
        assert all(torch.equal(value, state[name][key]) for key, value in entry.items()), name

    backward(parameters, 1.0, 2)
    assert optimizer.step().isfinite()
    assert all(not torch.equal(p, before[name]) and p.isfinite().all() for name, p in parameters.items())


def test_bfloat16_gradients_of_micro_batches_are_summed_in_float32(one_rank):
    parameters = make_parameters(torch.bfloat16)
    optimizer = MasterWeightAdamW(parameters)
    for _ in range(300):  # in bfloat16 the sum of ones stops at 256
        for parameter in parameters.values():
            parameter.sum().backward()
    assert optimizer.step().item() == pytest.approx(300 * 16**0.5)


def test_the_norm_counts_gradients_that_were_only_taken(one_rank):
    parameters = make_parameters(torch.bfloat16)
    optimizer = MasterWeightAdamW(parameters)
    for parameter in parameters.values():
        (3 * parameter).sum().backward()
    assert optimizer.gradient_norm().item() == pytest.approx(3 * 16**0.5)


def test_gradients_are_no_longer_clipped_once_the_limit_is_gone(one_rank):
    clipped, free = make_parameters(torch.float32), make_parameters(torch.float32)
    first, second = MasterWeightAdamW(clipped), MasterWeightAdamW(free)
    second.clip_grad = 0
    for optimizer, parameters in ((first, clipped), (second, free)):
        backward(parameters, 1e-3, 0)  # below the limit
        optimizer.step()
    backward(clipped, 1e3, 1)
    first.step()
    first.clip_grad = 0
    first.load_state_dict(second.state_dict())
    for optimizer, parameters in ((first, clipped), (second, free)):
        backward(parameters, 10.0, 2)
        optimizer.step()
    for name, entry in first.state_dict().items():
        torch.testing.assert_close(entry["exp_avg"], second.state_dict()[name]["exp_avg"], msg=name)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_checkpoint_resumes_with_weights_that_lie_differently_in_memory(one_rank, dtype):
    def run(change_layout):
        torch.manual_seed(0)
        layer = nn.Conv2d(4, 8, 3).to(dtype)
        parameters = dict(layer.named_parameters())
        optimizer = MasterWeightAdamW(parameters)
        backward(parameters, 1.0, 0)
        optimizer.step()
        if change_layout:
            state, weights = optimizer.state_dict(), layer.state_dict()
            layer = nn.Conv2d(4, 8, 3).to(dtype, memory_format=torch.channels_last)
            layer.load_state_dict(weights)
            parameters = dict(layer.named_parameters())
            optimizer = MasterWeightAdamW(parameters)
            optimizer.load_state_dict(state)
        backward(parameters, 1.0, 1)
        optimizer.step()
        return layer.weight.detach()

    torch.testing.assert_close(run(True), run(False))
