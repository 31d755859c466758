"""The pipeline's boundary: one message, exact gradients, every schedule."""

from pathlib import Path

import pytest
import torch

from onescience_check.runtime.errors import UserError
from onescience_check.runtime.pipeline.build import stages_of_chunk
from onescience_check.runtime.pipelinetensorshapeconfig import PipelineTensorShapeConfig
from tests import worlds
from tests.runtime.boundary_world import LAYOUTS

SHAPES = [[[1, 3, 2], [1, 5]], [[2, 2]]]


def test_message_carries_every_tensor_and_every_gradient_exactly():
    config = PipelineTensorShapeConfig(3, SHAPES)
    tensors = [torch.randn(shape, requires_grad=True) for shape in SHAPES[0]]
    message = config.pack(0, tensors, torch.float32)
    assert message.shape == config.message_shape(0) == (1, 1, 11)
    assert message._base is None, "the schedule frees what it sent; a view would keep its base alive"
    received = message.detach().requires_grad_()
    parts = config.unpack(0, received)
    weights = [torch.randn(shape) for shape in SHAPES[0]]
    sum((part * weight).sum() for part, weight in zip(parts, weights, strict=True)).backward()
    message.backward(received.grad)
    for tensor, part, weight in zip(tensors, parts, weights, strict=True):
        assert torch.equal(tensor, part)
        assert torch.equal(tensor.grad, weight)


def test_unused_tensor_gets_zero_gradient_instead_of_none():
    config = PipelineTensorShapeConfig(3, SHAPES)
    received = torch.randn(config.message_shape(0), requires_grad=True)
    config.unpack(0, received)[1].sum().backward()
    assert received.grad.flatten().tolist() == [0.0] * 6 + [1.0] * 5


@pytest.mark.parametrize(
    ("num_stages", "shapes", "words"),
    [
        (4, SHAPES, "3 boundaries"),
        (3, [[[1, 2]], [1, 2]], "list of shapes"),
        (3, [[[1, 2]], []], "list of shapes"),
        (3, [[[1, 2]], [[0, 2]]], "list of shapes"),
        (0, [], "num_stages"),
    ],
)
def test_description_that_cannot_be_meant(num_stages, shapes, words):
    with pytest.raises(UserError, match=words):
        PipelineTensorShapeConfig(num_stages, shapes)


@pytest.mark.parametrize(
    ("tensors", "words"),
    [
        ((torch.zeros(1, 3, 2),), "shapes"),
        ((torch.zeros(1, 3, 2), torch.zeros(1, 4)), "shapes"),
        ((torch.zeros(1, 3, 2), torch.zeros(1, 5).bfloat16()), "bfloat16"),
        ({"x": torch.zeros(1)}, "dict"),
        ((torch.zeros(1, 3, 2), 5), "int"),
    ],
)
def test_output_that_is_not_as_described(tensors, words):
    with pytest.raises(UserError, match=words):
        PipelineTensorShapeConfig(3, SHAPES).pack(0, tensors, torch.float32)


@pytest.mark.parametrize("num_chunks", [1, 2, 3, 4])
def test_stages_are_spread_in_order_and_evenly(num_chunks):
    parts = [list(stages_of_chunk(chunk, num_chunks, 4)) for chunk in range(num_chunks)]
    assert [stage for part in parts for stage in part] == [0, 1, 2, 3]
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize("size", sorted(LAYOUTS))
def test_every_layout_computes_the_plain_gradients(size, tmp_path):
    ended = worlds.run(Path(__file__).with_name("boundary_world.py"), size, tmp_path)
    assert ended.code == 0, ended.output[-3000:]
    assert ended.output.count("passed tp") == len(LAYOUTS[size])
