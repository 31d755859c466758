"""The compiled models compute what they compute uncompiled."""

from copy import deepcopy

import pytest
import torch
from torch import nn

from onescience_check.reference_models.models.pangu import Pangu
from onescience_check.reference_models.models.pangu.grids import INPUT_CHANNELS
from onescience_check.reference_models.models.xihe import Xihe
from onescience_check.reference_models.modules.compiled import compile_parts

from . import small_xihe
from .small_pangu import SMALL, gradient_scale


@pytest.fixture
def without_code_generation(monkeypatch):
    """torch.compile traces, and runs what it traced; generating C++ for it would take minutes."""
    compile_module = nn.Module.compile
    monkeypatch.setattr(
        nn.Module, "compile", lambda self, **options: compile_module(self, backend="aot_eager", **options)
    )
    yield
    torch.compiler.reset()


def test_the_plain_model(without_code_generation):
    torch.manual_seed(0)
    model = Pangu(**SMALL, drop_path=0.0)
    compiled = deepcopy(model)
    compile_parts(compiled)
    x = torch.randn(2, INPUT_CHANNELS, *SMALL["img_size"])
    upstream = torch.randn(2, 69, *SMALL["img_size"])
    outputs = [network(x) for network in (model, compiled)]
    for output in outputs:
        (output * upstream).sum().backward()
    torch.testing.assert_close(outputs[1], outputs[0], rtol=1e-4, atol=1e-5)
    expected = {name: parameter.grad for name, parameter in model.named_parameters()}
    for name, parameter in compiled.named_parameters():
        # As between tensor-parallel sizes: sums in another order, 3e-6 of the terms that cancel.
        atol = 1e-5 * gradient_scale(expected, name)
        torch.testing.assert_close(parameter.grad, expected[name], rtol=1e-4, atol=atol, msg=name)


def test_the_plain_xihe(without_code_generation):
    """Blocks take a dict with a mask."""
    torch.manual_seed(0)
    img_size = (13, 32)
    arguments = small_xihe.SMALL | {"img_size": img_size, "num_local": (1, 1, 1, 1, 1)}
    model = Xihe(**arguments, drop_path=0.0, mask_full=small_xihe.make_mask(img_size)).double()
    compiled = deepcopy(model)
    compile_parts(compiled)
    x = torch.randn(1, 6, *img_size, dtype=torch.float64)
    outputs = [network(x) for network in (model, compiled)]
    for output in outputs:
        output.square().sum().backward()
    torch.testing.assert_close(outputs[1], outputs[0], rtol=1e-10, atol=1e-12)
    expected = {name: parameter.grad for name, parameter in model.named_parameters()}
    for name, parameter in compiled.named_parameters():
        torch.testing.assert_close(parameter.grad, expected[name], rtol=1e-7, atol=1e-12, msg=name)
