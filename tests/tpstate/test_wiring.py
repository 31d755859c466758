"""How modules are held and called: attributes, containers, partials, helpers, specs, flags."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Check = Callable[..., None]
States = Callable[..., set[str]]

HELD = """
from megatron.core.transformer.module import MegatronModule


def apply_module(module):
    return module


def same(value):
    return value


def call_with(module, *args, **kwargs):
    return module(*args, **kwargs)


def make_column(dim, config, gather=True, **kwargs):
    return ColumnParallelLinear(
        dim, dim, config=config, init_method=config.init_method, gather_output=gather, **kwargs
    )


class Base(nn.Module):
    def __init__(self, dim, config):
        super().__init__()
        self.inherited = GATHERED(dim, dim)

    def from_base(self, x):
        return self.inherited(x)


class Model(Base):
    def __init__(self, dim, config, depth, names):
        super().__init__(dim, config)
{init}

    def property_holder(self):
        return self.fc

    @property
    def layer(self):
        return self.fc

    def helper(self, x):
        return self.fc(x)

    def forward(self, x, index):
{body}
"""
FC = "self.fc = GATHERED(dim, dim)"
WAYS = {
    "attribute": (FC, "y = self.fc(x)"),
    "inherited attribute": (FC, "y = self.inherited(x)"),
    "inherited method": (FC, "y = self.from_base(x)"),
    "method of the super class": (FC, "y = super().from_base(x)"),
    "forward called by name": (FC, "y = self.fc.forward(x)"),
    "local variable": (FC, "fc = self.fc\ny = fc(x)"),
    "built where it is called": (FC, "fc = make_column(x.shape[-1], self.fc.config)\ny = fc(x)"),
    "keyword argument": (FC, "y = self.fc(input_=x)"),
    "property": (FC, "y = self.layer(x)"),
    "method that returns it": (FC, "y = self.property_holder()(x)"),
    "helper method": (FC, "y = self.helper(x)"),
    "getattr": (FC, "y = getattr(self, 'fc')(x)"),
    "setattr": ("setattr(self, 'fc', GATHERED(dim, dim))", "y = self.fc(x)"),
    "add_module": ("self.add_module('fc', GATHERED(dim, dim))", "y = self.fc(x)"),
    "register_module": ("self.register_module('fc', GATHERED(dim, dim))", "y = self.fc(x)"),
    "sequential": ("self.fc = nn.Sequential(nn.Identity(), GATHERED(dim, dim))", "y = self.fc(x)"),
    "sequential by index": ("self.fc = nn.Sequential(nn.GELU(), GATHERED(dim, dim))", "y = self.fc[1](x)"),
    "sequential of a list": ("self.fc = nn.Sequential(*[GATHERED(dim, dim)])", "y = self.fc(x)"),
    "module list": ("self.fcs = nn.ModuleList([GATHERED(dim, dim) for _ in range(2)])", "y = self.fcs[0](x)"),
    "module list, last": ("self.fcs = nn.ModuleList([GATHERED(dim, dim)] * 2)", "y = self.fcs[-1](x)"),
    "module list of unknown length": (
        "self.fcs = nn.ModuleList([GATHERED(dim, dim) for _ in range(depth)])",
        "y = self.fcs[0](x)",
    ),
    "module list, appended": (
        "self.fcs = nn.ModuleList()\nfor _ in range(depth):\n    self.fcs.append(GATHERED(dim, dim))",
        "y = self.fcs[index](x)",
    ),
    "module list, loop": (
        "self.fcs = nn.ModuleList([GATHERED(dim, dim)])",
        "y = x\nfor fc in self.fcs:\n    y = fc(x)",
    ),
    "module list, zip and enumerate": (
        "self.fcs = nn.ModuleList([GATHERED(dim, dim)])\nself.acts = nn.ModuleList([nn.GELU()])",
        "y = x\nfor i, (fc, act) in enumerate(zip(self.fcs, self.acts)):\n    y = fc(act(x))",
    ),
    "module list, slice": (
        "self.fcs = nn.ModuleList([GATHERED(dim, dim), GATHERED(dim, dim)])",
        "y = x\nfor fc in self.fcs[1:]:\n    y = fc(x)",
    ),
    "module dict": ("self.fcs = nn.ModuleDict({'up': GATHERED(dim, dim)})", "y = self.fcs['up'](x)"),
    "module dict, values": (
        "self.fcs = nn.ModuleDict({'up': GATHERED(dim, dim)})",
        "y = x\nfor fc in self.fcs.values():\n    y = fc(x)",
    ),
    "module dict, items": (
        "self.fcs = nn.ModuleDict(dict(up=GATHERED(dim, dim)))",
        "y = x\nfor name, fc in self.fcs.items():\n    y = fc(x)",
    ),
    "module dict, assigned": (
        "self.fcs = nn.ModuleDict()\nself.fcs['up'] = GATHERED(dim, dim)",
        "y = self.fcs['up'](x)",
    ),
    "plain list": ("self.fcs = [GATHERED(dim, dim)]", "y = self.fcs[0](x)"),
    "plain dict": ("self.fcs = {'up': GATHERED(dim, dim)}", "y = self.fcs['up'](x)"),
    "lambda": (FC, "call = lambda t: self.fc(t)\ny = call(x)"),
    "lambda attribute": (FC + "\nself.call = lambda t: self.fc(t)", "y = self.call(x)"),
    "nested function": (FC, "def call(t):\n    return self.fc(t)\ny = call(x)"),
    "partial of the class": (
        "column = functools.partial(ColumnParallelLinear, config=config, init_method=config.init_method)\n"
        "self.fc = column(dim, dim, gather_output=True)",
        "y = self.fc(x)",
    ),
    "partial of the layer": (FC, "y = functools.partial(self.fc, x)()"),
    "helper function": ("self.fc = make_column(dim, config)", "y = self.fc(x)"),
    "class in a variable": (
        "cls = ColumnParallelLinear\nself.fc = cls(dim, dim, config=config, init_method=config.init_method)",
        "y = self.fc(x)",
    ),
    "keywords in a dict": (
        "options = dict(config=config, init_method=config.init_method)\noptions['gather_output'] = True\n"
        "self.fc = ColumnParallelLinear(dim, dim, **options)",
        "y = self.fc(x)",
    ),
    "identity helper": (FC, "y = apply_module(self.fc)(x)"),
    "identity helper of any name": (FC, "y = same(self.fc)(x)"),
    "handed to a function": (FC, "y = call_with(self.fc, x)"),
    "moved to a device": (FC, "y = self.fc.to(x.device)(x)"),
    "checkpoint of torch": (FC, "y = torch.utils.checkpoint.checkpoint(self.fc, x, use_reentrant=False)"),
    "two targets": ("self.fc = self.fc2 = GATHERED(dim, dim)", "y = self.fc2(x)"),
    "tuple targets": ("self.fc, self.act = GATHERED(dim, dim), nn.GELU()", "y = self.fc(self.act(x))"),
    "conditional expression, decided": (
        "self.fc = GATHERED(dim, dim) if True else nn.Linear(dim, dim)",
        "y = self.fc(x)",
    ),
    "or default": ("self.fc = None or GATHERED(dim, dim)", "y = self.fc(x)"),
    "walrus": (FC, "if (y := self.fc(x)) is None:\n    return x"),
    "identity module in between": (FC + "\nself.act = nn.Identity()", "y = self.act(self.fc(x))"),
    "comprehension": (FC, "y, z = [fc(x) for fc in (self.fc, self.inherited)]"),
    "generator": (FC, "y, z = (fc(x) for fc in (self.fc, self.inherited))"),
    "map": (FC, "y, z = map(lambda fc: fc(x), (self.fc, self.inherited))"),
}


def indent(text: str) -> str:
    return "\n".join(f"        {line}" for line in text.split("\n"))


@pytest.mark.parametrize("way", sorted(WAYS))
def test_a_layer_is_found_however_it_is_held_and_called(way: str, check: Check) -> None:
    init, body = WAYS[way]
    body += "\nreturn y.relu()  # [parallel-linear-tuple-used]"
    check({"HEAD model.py": HELD.format(init=indent(init), body=indent(body))})


def test_a_layer_chosen_by_a_flag_is_followed_under_the_same_flag(check: Check) -> None:
    check("""
    class Model(nn.Module):
        def __init__(self, dim, config, parallel=False):
            super().__init__()
            self.parallel = parallel
            if parallel:
                self.fc = GATHERED(dim, dim)
            else:
                self.fc = nn.Linear(dim, dim)
            self.other = GATHERED(dim, dim) if self.parallel else nn.Linear(dim, dim)

        def right(self, x):
            if not self.parallel:
                return self.fc(x).relu()
            return self.other(x)[0].relu()

        def forward(self, x):
            x = self.fc(x)[0] if self.parallel else self.fc(x)
            x = self.right(x)
            y = self.other(x)
            if self.parallel:
                y, _ = y
            if self.parallel:
                return self.fc(y).relu()  # [parallel-linear-tuple-used]
            return self.other(y).relu()
    """)


def test_isinstance_tests_pick_the_kind(check: Check) -> None:
    check("""
    class Model(nn.Module):
        def __init__(self, dim, config, parallel):
            super().__init__()
            self.fc = GATHERED(dim, dim) if parallel else nn.Linear(dim, dim)
            self.layers = nn.ModuleList([GATHERED(dim, dim), nn.GELU(), nn.Linear(dim, dim)])

        def forward(self, x):
            for layer in self.layers:
                if isinstance(layer, ColumnParallelLinear):
                    x, _ = layer(x)
                else:
                    x = layer(x)
            y = self.fc(x)
            if isinstance(y, tuple):
                y = y[0]
            z = self.fc(y)
            z = z[0] if isinstance(z, (tuple, list)) else z
            w = self.fc(z)
            if not isinstance(w, torch.Tensor):
                w, _ = w
            if type(self.fc) is ColumnParallelLinear:
                return self.fc(w).relu()  # [parallel-linear-tuple-used]
            return w.relu()
    """)


SPEC = """
from dataclasses import dataclass
from megatron.core.transformer.spec_utils import ModuleSpec, build_module


@dataclass
class MlpSubmodules:
    linear_fc1: object = None
    linear_fc2: object = None


class Mlp(nn.Module):
    def __init__(self, config, submodules):
        super().__init__()
        self.linear_fc1 = build_module(
            submodules.linear_fc1, config.hidden_size, 4 * config.hidden_size, config=config,
            init_method=config.init_method, gather_output=False,
        )
        self.probe = build_module(
            submodules.linear_fc2, 4 * config.hidden_size, config.hidden_size, config=config,
            init_method=config.init_method, bias=True, input_is_parallel=False, skip_bias_add=False,
        )

    def forward(self, x):
        hidden, _ = self.linear_fc1(x)
        return self.probe(hidden)
"""
LAYER = """

class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        spec = ModuleSpec(
            module=Mlp,
            submodules=MlpSubmodules(linear_fc1=ColumnParallelLinear, linear_fc2=RowParallelLinear),
        )
        self.mlp = build_module(spec, config=config)

    def forward(self, x):
        return self.mlp(x)[0]
"""


def test_layers_named_by_a_spec_that_can_be_seen(trees, check: Check) -> None:  # type: ignore[no-untyped-def]
    trees.check(
        {
            "HEAD model.py": (SPEC + LAYER).replace(
                "self.probe(hidden)", "self.probe(hidden)  # [input-is-parallel-mismatch]"
            )
        }
    )


def test_layers_named_by_a_spec_that_cannot_be_seen(states: States, check: Check) -> None:
    """What the second is told makes it a row-parallel layer; nothing is known of its input, what the first returns."""
    check({"HEAD model.py": SPEC})
    assert states({"HEAD model.py": SPEC}) == {"no tensor"}
    untold = SPEC.replace("init_method=config.init_method, bias=True", "bias=True")
    assert states({"HEAD model.py": untold}) == set()


def test_submodules_called_directly_by_a_spec(check: Check) -> None:
    check("""
    class Mlp(nn.Module):
        def __init__(self, config, submodules):
            super().__init__()
            self.fc1 = submodules.linear_fc1(config.hidden_size, config.hidden_size, config=config)

        def forward(self, x):
            return apply_module(self.fc1)(x).relu()
    """)
