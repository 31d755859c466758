"""Random programs over the operator table, run on simulated ranks: what is said of a value is what the ranks hold."""

from __future__ import annotations

import ast
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onescience_check.checkers.files.discovery import FileSet
from onescience_check.checkers.project.project import Project
from onescience_check.checkers.settings import Settings
from onescience_check.checkers.tpstate import expressions
from onescience_check.checkers.tpstate.analysis import Analysis
from onescience_check.checkers.tpstate.events import Event
from onescience_check.checkers.tpstate.interpreter import Interpreter
from onescience_check.checkers.tpstate.states import State
from onescience_check.checkers.tpstate.values import Tensor, Value

torch = pytest.importorskip("torch")

RANKS, TOKENS, WIDTH = 2, 3, 4
"""Ranks, rows and channels of each value; WIDTH is a multiple of RANKS squared."""

HEAD = """\
import torch
import torch.nn.functional as F
from megatron.core.tensor_parallel import (
    ColumnParallelLinear, RowParallelLinear, copy_to_tensor_model_parallel_region,
    gather_from_tensor_model_parallel_region, reduce_from_tensor_model_parallel_region,
    scatter_to_tensor_model_parallel_region,
)
from torch import nn


class Program(nn.Module):
    def __init__(self, config, width):
        super().__init__()
        self.col = ColumnParallelLinear(
            width, width, config=config, init_method=config.init_method, bias=False, gather_output=False
        )
        self.all = ColumnParallelLinear(
            width, width, config=config, init_method=config.init_method, bias=False, gather_output=True
        )
        self.part = RowParallelLinear(
            width, width, config=config, init_method=config.init_method, bias=False, input_is_parallel=False,
            skip_bias_add=False, reduce_results=False,
        )
        self.row = RowParallelLinear(
            width, width, config=config, init_method=config.init_method, bias=False, input_is_parallel=True,
            skip_bias_add=False,
        )

    def forward(self, x):
        s, _ = self.col(x)
        f, _ = self.all(x)
        p, _ = self.part(x)
"""

ONE = (
    "{0}.float()",
    "-{0}",
    "{0}.clone()",
    "torch.tanh({0})",
    "F.gelu({0})",
    "torch.exp({0})",
    "{0}.abs()",
    "2 * {0}",
    "{0} / 3",
    "{0}.contiguous()",
    "F.softmax({0}, dim=-1)",
    "F.softmax({0}, dim=0)",
    "{0}.cumsum(dim=0)",
    "{0}.transpose(0, 1)",
    "{0}.t()",
    "{0}.flip(0)",
    "{0}.roll(1, 0)",
    "{0}.square()",
    "{0}.sum(dim=-1, keepdim=True)",
    "{0}.mean(dim=0, keepdim=True)",
    "{0}.amax(dim=-1, keepdim=True)",
    "torch.relu({0})",
    "{0}.sign()",
    "{0}.unsqueeze(0)",
    "{0}[1:]",
    "{0}[..., :1]",
    "copy_to_tensor_model_parallel_region({0})",
    "gather_from_tensor_model_parallel_region({0})",
    "reduce_from_tensor_model_parallel_region({0})",
    "scatter_to_tensor_model_parallel_region({0})",
    "self.row({0})[0]",
    "self.col({0})[0]",
    "{0}.log_softmax(-1)",
    "F.layer_norm({0}, {0}.shape[-1:])",
    "{0}.sin()",
    "{0}.masked_fill(x[:, :1] > 0, 0.0)",
    "{0}.chunk(2, dim=-1)[0]",
    "{0}.flatten(0)",
    "{0}.repeat(2, 1)",
    "{0}.expand(1, -1, -1)",
)
TWO = (
    "{0} + {1}", "{0} - {1}", "{0} * {1}", "torch.cat(({0}, {1}), dim=-1)", "torch.cat(({0}, {1}), dim=0)",
    "torch.maximum({0}, {1})", "torch.where(x[:, :1] > 0, {0}, {1})", "torch.stack(({0}, {1}))",
    "{0} / (1 + {1}.abs())",
)  # fmt: skip


@dataclass
class Rank:
    """What the names of a program mean on one of `ranks` ranks; the collectives run on all of them at once."""

    number: int
    ranks: int
    weights: dict[str, torch.Tensor]
    vars: dict[str, torch.Tensor] = field(default_factory=dict)

    def part(self, value: torch.Tensor, dim: int = -1) -> torch.Tensor:
        return value.chunk(self.ranks, dim)[self.number]


class World:
    """A program on several ranks, one statement at a time."""

    def __init__(self, ranks: int, weights: dict[str, torch.Tensor], x: torch.Tensor) -> None:
        self.ranks = [Rank(number, ranks, weights) for number in range(ranks)]
        self.each("x", [x] * ranks)
        self.each("s", [x @ rank.part(weights["col"]) for rank in self.ranks])
        self.each("f", [x @ weights["all"]] * ranks)
        self.each("p", [rank.part(x) @ rank.part(weights["part"], 0) for rank in self.ranks])

    def each(self, name: str, values: list[torch.Tensor]) -> None:
        for rank, value in zip(self.ranks, values, strict=True):
            rank.vars[name] = value

    def run(self, name: str, text: str) -> None:
        self.each(name, self.value(ast.parse(text, mode="eval").body))

    def value(self, node: ast.expr) -> list[torch.Tensor]:
        """The values of an expression on all ranks; a collective is the outermost call of its statement."""
        call = node.value if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call) else node
        func = ast.unparse(call.func) if isinstance(call, ast.Call) else ""
        if func in ("self.row", "self.col") or "_tensor_model_parallel_region" in func:
            assert isinstance(call, ast.Call)
            return self.collective(func, self.value(call.args[0]))
        code = compile(ast.Expression(node), "<program>", "eval")
        names = {"torch": torch, "F": torch.nn.functional}
        return [eval(code, {**names, **rank.vars}) for rank in self.ranks]

    def collective(self, func: str, values: list[torch.Tensor]) -> list[torch.Tensor]:
        many = len(values)
        if func == "self.col":
            return [
                value @ rank.part(rank.weights["col"]) for rank, value in zip(self.ranks, values, strict=True)
            ]
        if func == "self.row":
            parts = [
                value @ rank.part(rank.weights["row"], 0)
                for rank, value in zip(self.ranks, values, strict=True)
            ]
            return [sum(parts)] * many
        if func.startswith("copy"):
            return values
        if func.startswith("gather"):
            return [torch.cat(values, -1)] * many
        if func.startswith("reduce"):
            return [sum(values)] * many
        return [rank.part(value) for rank, value in zip(self.ranks, values, strict=True)]


@st.composite
def programs(draw: st.DrawFn) -> list[tuple[str, str]]:
    """Statements `v0 = …`, each of the values before it."""
    names = ["s", "f", "p", "x"]
    found = []
    for number in range(draw(st.integers(1, 6))):
        template = draw(st.sampled_from(ONE + TWO))
        found.append(
            (f"v{number}", template.format(draw(st.sampled_from(names)), draw(st.sampled_from(names))))
        )
        names.append(f"v{number}")
    return found


def typed(program: list[tuple[str, str]]) -> Iterator[tuple[str, Tensor]]:
    """What the interpreter says of each variable, up to the first statement that is reported or not understood."""
    said: dict[str, Value] = {}
    line_of: dict[str, int] = {}
    assign = expressions.assign

    def noted(interp: Interpreter, frame: object, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            said[target.id] = value
            line_of[target.id] = target.lineno
        assign(interp, frame, target, value)  # type: ignore[arg-type]

    with tempfile.TemporaryDirectory() as folder:
        text = HEAD + "".join(f"        {name} = {value}\n" for name, value in program) + "        return x\n"
        (Path(folder) / "program.py").write_text(text)
        run = Settings(base=Path(folder))
        analysis = Analysis(Project(FileSet.gather([Path(folder)], run), run))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(expressions, "assign", noted)
            events: list[Event] = analysis.log.events
        assert not analysis.log.failed, analysis.log.failed
        reported = min((e.site.node.lineno for e in events if type(e).__name__ in REPORTED), default=10**6)
    for name, _ in program:
        value = said.get(name)
        joined = isinstance(value, Tensor) and value.role == "cat of shards"  # W7114 speaks of where it goes
        if line_of.get(name, 10**6) >= reported or joined:
            return
        if isinstance(value, Tensor):
            yield name, value


REPORTED = frozenset(
    "ShardedEscape WholeNeeded PartialMet PartReduced BiasOnPartial SplitWhole WronglyReduced ThirdsTaken".split()
)


@given(programs())
@settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))
def test_types_say_what_the_ranks_hold(program: list[tuple[str, str]]) -> None:
    torch.manual_seed(0)
    weights = {name: torch.randn(WIDTH, WIDTH, dtype=torch.float64) for name in ("col", "all", "part", "row")}
    x = torch.randn(TOKENS, WIDTH, dtype=torch.float64)
    many, alone = World(RANKS, weights, x), World(1, weights, x)
    types = dict(typed(program))
    known = {"s", "f", "p", "x"}
    for name, text in program:
        used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)} - {"torch", "F"}
        if not {part for part in used if part[0] in "sfpxv" and "_" not in part} <= known:
            return  # nothing is said of an operand, and so of all that follows
        try:
            many.run(name, text)
            alone.run(name, text)
        except (RuntimeError, IndexError):
            return  # shapes do not fit: the program ends here
        if name in types and types[name].state is not State.UNKNOWN:
            known.add(name)
            held = [rank.vars[name] for rank in many.ranks]
            assert agrees(types[name], held, alone.ranks[0].vars[name]), (program, name, types[name].state)


def agrees(said: Tensor, held: list[torch.Tensor], whole: torch.Tensor) -> bool:
    """Whether what the ranks hold is of the type that is said; of an unknown one nothing is said."""
    if said.state is State.FULL:
        return all(_equal(value, held[0]) for value in held)
    if said.state is State.PARTIAL:
        return _equal(sum(held), whole)
    if said.state is State.SHARDED and said.last:
        return _equal(torch.cat(held, -1), whole)
    if said.state is State.SHARDED and said.axis is not None:
        return _equal(torch.cat(held, said.axis), whole)
    return True


def _equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one, other, equal_nan=True)
