"""E7134"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import as_code, walk
from ..finding import Evidence, Finding
from ..language import tr
from ..project.project import External, dotted_name
from ..project.scopes import assignments
from ..rule import Rule, Symptom
from ..spmd.axes import last_name
from ..spmd.frames import Attributes, Frame, functions
from ..spmd.parallel_plans import Plan, assigned, attribute, holders, is_missing, plan_of
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_CALLS = re.compile(r"parallelize_module\(")


class ParallelPlanMismatch(Rule):
    """A plan of `parallelize_module` does not fit the module that it is for."""

    code, symbol = "E7134", "parallel-plan-mismatch"
    message = "%(problem)s"
    advice = "%(typed)s"
    why = (
        "`ColwiseParallel` leaves each rank the own part of the output channels, and `RowwiseParallel` takes such a "
        "part and sums. Between the two each rank has its own heads and channels; a name that leads to no module is "
        "passed over with a warning."
    )
    symptom = Symptom.CRASH
    runtime = "a shape error in the first forward at tp > 1, or a layer that stays whole and is fed a part"
    limits = (
        "Where the class of the module is known by its annotation, its constructor or an assertion, and the plan is "
        "written out as a dict; entries with layouts of their own are left alone."
    )
    guide = "beyond the guide"
    bad = """
    from torch import nn
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


    class FeedForward(nn.Module):
        def __init__(self, dim, hidden):
            super().__init__()
            self.up = nn.Linear(dim, hidden)
            self.down = nn.Linear(hidden, dim)

        def forward(self, x):
            return self.down(nn.functional.gelu(self.up(x)))


    def split(ffn: FeedForward, mesh):
        plan = {
            "up": ColwiseParallel(),
            "down": ColwiseParallel(),  # [parallel-plan-mismatch]
        }
        return parallelize_module(ffn, mesh, plan)
    """
    good = bad.replace('"down": ColwiseParallel(),  # [parallel-plan-mismatch]', '"down": RowwiseParallel(),')

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _CALLS):
            for call in frame.scope.calls:
                if last_name(call.func) == "parallelize_module" and "torch" in frame.external(call.func):
                    plan = plan_of(call, frame)
                    if plan is not None:
                        yield from self._check(plan, frame)

    def _check(self, plan: Plan, frame: Frame) -> Iterator[Finding]:
        for name, (key, _) in plan.entries.items():
            if is_missing(frame, plan.cls, name.split(".")):
                yield self._finding(
                    frame,
                    key,
                    tr(
                        "the plan names `%(name)s`, and `%(cls)s` has no such module",
                        name=name,
                        cls=plan.cls.name,
                    ),
                    tr("Name the module as the class does."),
                )
        for cls, prefix in holders(frame, plan):
            styles = {
                name[len(prefix) :]: style
                for name, (_, style) in plan.entries.items()
                if name.startswith(prefix) and "." not in name[len(prefix) :]
            }
            split = {name for name, style in styles.items() if _is_plain(style, "ColwiseParallel")}
            forward = cls.methods.get("forward")
            if forward is None or not split:
                continue
            grown = _grown(forward, split)
            for name in sorted(split):
                call = _fed_by(forward, name, split, grown)
                if call is not None:
                    key = plan.entries[prefix + name][0]
                    yield self._finding(
                        frame,
                        key,
                        tr(
                            "`%(name)s` is split by columns, and its input is one rank's part of the channels already",
                            name=prefix + name,
                        ),
                        tr('Write `"%(name)s": RowwiseParallel()`.', name=prefix + name),
                        Evidence(cls.module.display, call.lineno, tr("`%(call)s`", call=as_code(call)[:60])),
                    )
            yield from self._views(frame, cls, forward, split)
            yield from self._beside(frame, plan, prefix, forward, styles)
            yield from self._left_out(frame, plan, prefix, cls, (split, grown))

    def _views(
        self, frame: Frame, cls: ClassFacts, forward: ast.FunctionDef, split: set[str]
    ) -> Iterator[Finding]:
        """`self.wq(x).view(b, s, self.heads, d)`, where `wq` is split and `heads` is all of them."""
        for node in walk(forward):
            if not isinstance(node, ast.Call) or last_name(node.func) not in ("view", "reshape"):
                continue
            of = node.func.value if isinstance(node.func, ast.Attribute) else None
            name = _source(of, forward) if of is not None else None
            heads = [
                arg for arg in node.args if isinstance(arg, ast.Attribute) and as_code(arg.value) == "self"
            ]
            if name not in split or len(heads) != 2 or len(node.args) != 4:
                continue
            count = heads[0].attr
            if "head" in count and not _is_changed(frame, cls, count):
                yield self.finding(
                    place_of(cls.module, node),
                    object=cls.name,
                    problem=tr(
                        "`%(name)s` is split by columns, and its output is viewed with all heads, `self.%(count)s`",
                        name=name,
                        count=count,
                    ),
                    typed=tr("Write `-1` for the number of heads: each rank has its own."),
                )
                return

    def _beside(
        self, frame: Frame, plan: Plan, prefix: str, forward: ast.FunctionDef, styles: dict[str, ast.expr]
    ) -> Iterator[Finding]:
        """One argument of the forward that a layer split by columns takes whole, and one split by rows as a part."""
        taken = {
            kind: {
                node.args[0].id: _called(node) or ""
                for node in walk(forward)
                if isinstance(node, ast.Call)
                and len(node.args) == 1
                and isinstance(node.args[0], ast.Name)
                and (style := styles.get(_called(node) or "")) is not None
                and _is_plain(style, kind)
            }
            for kind in ("ColwiseParallel", "RowwiseParallel")
        }
        own = {arg.arg for arg in forward.args.args} - assigned(forward)
        for name in sorted(own & set(taken["ColwiseParallel"]) & set(taken["RowwiseParallel"])):
            row, column = taken["RowwiseParallel"][name], taken["ColwiseParallel"][name]
            yield self._finding(
                frame,
                plan.entries[prefix + row][0],
                tr(
                    "`%(row)s` is split by rows and wants a part of `%(name)s`, which `%(column)s` takes whole",
                    row=prefix + row,
                    name=name,
                    column=prefix + column,
                ),
                tr('Write `"%(name)s": ColwiseParallel()`.', name=prefix + row),
            )

    def _left_out(
        self, frame: Frame, plan: Plan, prefix: str, cls: ClassFacts, grown: tuple[set[str], set[str]]
    ) -> Iterator[Finding]:
        """A plain linear layer that gets one rank's part, and that no plan of the tree names."""
        split, names = grown
        for node in walk(cls.methods["forward"]):
            name = _called(node) if isinstance(node, ast.Call) and len(node.args) == 1 else None
            if name is None or prefix + name in plan.entries or not isinstance(node, ast.Call):
                continue
            made = attribute(frame, cls, name)
            is_plain = isinstance(made, ast.Call) and frame.project.resolve_expression(cls.module, made.func)
            if not isinstance(is_plain, External) or is_plain.dotted != "torch.nn.Linear":
                continue
            named = re.compile(rf"[\"'.]{name}[\"']")
            if _is_part(node.args[0], split, names) and not any(
                named.search(module.text) for module in frame.project.modules if name in module.words
            ):
                first = next(iter(plan.entries.values()))[0]
                yield self._finding(
                    frame,
                    first,
                    tr("`%(name)s` gets one rank's part, and the plan leaves it whole", name=prefix + name),
                    tr('Add `"%(name)s": RowwiseParallel()`.', name=prefix + name),
                    Evidence(cls.module.display, node.lineno, tr("`%(call)s`", call=as_code(node)[:60])),
                )

    def _finding(
        self, frame: Frame, node: ast.expr, problem: str, typed: str, evidence: Evidence | None = None
    ) -> Finding:
        return self.finding(
            place_of(frame.module, node),
            object=frame.function_name,
            evidence=(evidence,) if evidence is not None else (),
            problem=problem,
            typed=typed,
        )


def _is_plain(style: ast.expr, name: str) -> bool:
    """A style with its default layouts."""
    return (
        isinstance(style, ast.Call)
        and last_name(style.func) == name
        and not style.args
        and not style.keywords
    )


def _source(node: ast.expr, forward: ast.FunctionDef) -> str | None:
    """The layer whose output this is: `self.wq(x)`, a name that holds nothing else, `w(x) … for w in (self.wq, …)`."""
    if isinstance(node, ast.Name):
        held = [
            value
            for statement in walk(forward)
            for target, value in assignments(statement)
            if isinstance(target, ast.Name) and target.id == node.id
        ]
        first = held[0] if held else None
        return _called(first) if isinstance(first, ast.Call) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        for part in walk(forward):
            for turn in getattr(part, "generators", []):
                if as_code(turn.target) == node.func.id and isinstance(turn.iter, ast.Tuple | ast.List):
                    return as_code(turn.iter.elts[0]).removeprefix("self.")
        return None
    return _called(node) if isinstance(node, ast.Call) else None


def _called(node: ast.expr | None) -> str | None:
    """The name behind `self.name(...)`."""
    dotted = dotted_name(node.func) if isinstance(node, ast.Call) else None
    parts = dotted.split(".") if dotted is not None else []
    return parts[1] if len(parts) == 2 and parts[0] == "self" else None


def _grown(forward: ast.FunctionDef, split: set[str]) -> set[str]:
    """Local names that hold nothing but outputs of split layers, elementwise functions of them, and their products."""
    grown: set[str] = set()
    for node in walk(forward):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            if _is_part(node.value, split, grown):
                grown.add(node.targets[0].id)
    return grown


_ELEMENTWISE = frozenset("silu gelu relu sigmoid tanh dropout contiguous to".split())


def _is_part(node: ast.expr, split: set[str], grown: set[str]) -> bool:
    if isinstance(node, ast.BinOp):
        return _is_part(node.left, split, grown) and _is_part(node.right, split, grown)
    if isinstance(node, ast.Name):
        return node.id in grown
    if not isinstance(node, ast.Call):
        return False
    if _called(node) in split:
        return True
    inner = node.args[0] if node.args else node.func.value if isinstance(node.func, ast.Attribute) else None
    return last_name(node.func) in _ELEMENTWISE and inner is not None and _is_part(inner, split, grown)


def _fed_by(forward: ast.FunctionDef, name: str, split: set[str], grown: set[str]) -> ast.Call | None:
    """A call of a split layer whose argument is one rank's part already."""
    for node in walk(forward):
        if isinstance(node, ast.Call) and _called(node) == name and node.args:
            if _is_part(node.args[0], split - {name}, grown):
                return node
    return None


def _is_changed(frame: Frame, cls: ClassFacts, count: str) -> bool:
    """Whether some code of the tree sets the number of heads again, as plans do: `attention.n_heads //= tp`."""
    again = re.compile(rf"(?<!self)\.{count}\s*(//=|=(?!=))|self\.{count}\s*//=")
    own = frame.project.knowledge(Attributes).of(cls).get(count, [])
    return len(own) != 1 or any(again.search(m.text) for m in frame.project.modules if count in m.words)
