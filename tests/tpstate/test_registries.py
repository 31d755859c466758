"""Layers behind registries and wrappers: the wrapper is found by what it does, whatever its name."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.tpstate.registry_sources import FORWARD, LAYERS, REGISTRIES, tree

Check = Callable[..., None]


@pytest.mark.parametrize("kind", sorted(REGISTRIES))
def test_a_registry(kind: str, check: Check) -> None:
    check(tree("onemlp", REGISTRIES[kind] + FORWARD, "OneMlp", 'style="Swin", ', 'style="SwinDistributed", '))


@pytest.mark.parametrize(
    "parallel",
    [
        "style=style, ",
        'style="Swin" + "Distributed", ',
        'style=f"Swin{kind}", '.replace("{kind}", "{'Distributed'}"),
        '"SwinDistributed", ',
        '**dict(style="SwinDistributed"), ',
    ],
)
def test_a_style_by_variable_or_f_string(parallel: str, check: Check) -> None:
    check(tree("onemlp", REGISTRIES["classes"] + FORWARD, "OneMlp", 'style="Swin", ', parallel))


def test_a_style_that_a_caller_gives(check: Check) -> None:
    check(
        {
            "weather/__init__.py": "",
            "weather/layers.py": LAYERS,
            "weather/onemlp.py": REGISTRIES["lazy_pairs"] + FORWARD,
            "weather/block.py": """
            from torch import nn
            from weather.onemlp import OneMlp


            class Block(nn.Module):
                def __init__(self, family, suffix="", **kwargs):
                    super().__init__()
                    self.mlp = OneMlp(style=f"{family}{suffix}", **kwargs)

                def forward(self, x):
                    return self.mlp(x).relu()  # [parallel-linear-tuple-used]
            """,
            "weather/model.py": """
            from torch import nn
            from weather.block import Block


            class Weather_stage0(nn.Module):
                def __init__(self, dim, config, **kwargs):
                    super().__init__()
                    self.first = Block("Swin", dim=dim)
                    self.second = Block("Swin", "Distributed", dim=dim, config=config)

                def set_input_tensor(self, input_tensor):
                    self.input_tensor = input_tensor

                def forward(self, x):
                    return self.second(self.first(x))
            """,
        }
    )


@pytest.mark.parametrize("wrapper", ["OneMlp", "build_mlp", "MlpFactory"])
def test_the_wrapper_may_have_any_name(wrapper: str, check: Check) -> None:
    if wrapper == "build_mlp":
        source = """
from .layers import SwinDistributedMlp, SwinMlp

TABLE = {"Swin": SwinMlp, "SwinDistributed": SwinDistributedMlp}


def build_mlp(name, **options):
    return TABLE[name](**options)
"""
    else:
        source = (
            (REGISTRIES["classes"] + FORWARD).replace("OneMlp", wrapper).replace("_MLP_REGISTRY", "KINDS")
        )
    check(tree("factory", source, wrapper, '"Swin", ', '"SwinDistributed", '))


def test_entries_added_by_a_decorator_or_a_loop_are_not_guessed(check: Check) -> None:
    source = """
from torch import nn

TABLE = {}


def register(name):
    def add(cls):
        TABLE[name] = cls
        return cls
    return add


class OneMlp(nn.Module):
    def __init__(self, style, **kwargs):
        super().__init__()
        self.inner = TABLE[style](**kwargs)
"""
    files = tree("onemlp", source + FORWARD, "OneMlp", 'style="Swin", ', 'style="SwinDistributed", ')
    files["weather/model.py"] = files["weather/model.py"].replace("# [parallel-linear-tuple-used]", "")
    check(files)


def test_a_style_that_cannot_be_evaluated_is_not_guessed(check: Check) -> None:
    files = tree(
        "onemlp", REGISTRIES["classes"] + FORWARD, "OneMlp", 'style="Swin", ', "style=config.style, "
    )
    files["weather/model.py"] = files["weather/model.py"].replace("# [parallel-linear-tuple-used]", "")
    check(files)
