"""The shapes of what stages send, by the sizes that their submodules are built with, beside those a script declares."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..facts.module import ClassFacts
from ..project.boundary import Boundaries, Sent
from ..project.config_reads import Configs
from ..project.registries import registries, wrappers, written_style
from ..project.scopes import Scope, all_arguments
from ..project.spelled import spelled_out
from ..project.stage_calls import build_call
from ..project.stages import Stage
from ..project.training import ShapeConfig, TrainingScript
from .script_values import ScriptValues

_GRIDS = ("output_resolution", "input_resolution", "resolution")

_RESAMPLES = re.compile(r"sample|merg|expand|recover|upscal|downscal|(^|_)(up|down)(_|$)")

_WIDTHS = ("out_dim", "dim", "embed_dim")


@dataclass(frozen=True, eq=False)
class Made:
    """What a stage sends as one tensor: tokens and channels, None where unknown; `by` names what made it, at `line`."""

    tokens: int | None
    width: int | None
    by: str
    path: str
    line: int


@dataclass(frozen=True, eq=False)
class Declared:
    """One shape of `stage_shapes`: `sizes` in order, None where they are known at run time only."""

    node: ast.List | ast.Tuple
    sizes: tuple[int | None, ...]
    boundary: int
    index: int


class StageSizes:
    """The shapes of one script's boundaries, from both sides."""

    def __init__(self, script: TrainingScript, config: ShapeConfig) -> None:
        self.script, self.config = script, config
        self.project = script.project
        self.values = ScriptValues(self.project, Configs(script))

    def declared(self) -> Iterator[Declared]:
        """Every shape that is spelled out."""
        boundaries = self.config.boundaries.elts if self.config.boundaries is not None else []
        for boundary in range(len(boundaries)):
            for index, node in enumerate(self.config.shapes(boundary) or ()):
                shape = spelled_out(node, self.config.shape_scope)
                if shape is not None:
                    yield Declared(shape, tuple(map(self._size, shape.elts)), boundary, index)

    def _size(self, node: ast.expr) -> int | None:
        found = self.values.value(node, self.config.shape_scope)
        return found if type(found) is int else None

    def sent(self, boundary: int, index: int) -> Sent | None:
        """The tensor that the stage of a rank returns at one place, where all its returns agree on it."""
        family = self.script.family
        stage = family.at(boundary) if family is not None else None
        if stage is None:
            return None
        found = [item for item in self.project.knowledge(Boundaries).of(stage).sent() if item.index == index]
        same = {(item.count, item.origin.passes, item.origin.name) for item in found}
        return found[0] if len(same) == 1 else None

    def source(self, boundary: int, index: int) -> tuple[int, int, Sent] | None:
        """The boundary and place where a tensor was sent first, before later stages passed it through."""
        sent = self.sent(boundary, index)
        while (
            sent is not None and sent.origin.passes is not None and sent.origin.passes >= 0 and boundary > 0
        ):
            boundary, index = boundary - 1, sent.origin.passes
            sent = self.sent(boundary, index)
        return None if sent is None else (boundary, index, sent)

    def made(self, boundary: int, sent: Sent) -> Made | None:
        """The size of a tensor by the constructor of the submodule that made it; None where that cannot be told."""
        family = self.script.family
        stage = family.at(boundary) if family is not None else None
        attr = sent.origin.name.removeprefix("self.")
        found = self.project.method(stage.cls, "__init__") if stage is not None else None
        if (
            stage is None
            or found is None
            or not sent.origin.name.startswith("self.")
            or not sent.origin.is_tensor
        ):
            return None
        scope = Scope(found[0].module, found[1], Scope(found[0].module))
        call = scope.bound.get(f"self.{attr}", [])
        if len(call) != 1 or not isinstance(call[0], ast.Call):
            return None
        given = self._named(scope, call[0])
        values = ScriptValues(self.project, None, self._arguments(stage, found[1]))
        resamples = _changes_grid(attr, call[0], given)
        grids = _GRIDS[:1] if resamples else _GRIDS
        grid = next((values.value(given[name], scope) for name in grids if name in given), None)
        names = _WIDTHS[:1] if resamples or "output_resolution" in given else _WIDTHS[1:]
        width = next((values.value(given[name], scope) for name in names if name in given), None)
        tokens = (
            math.prod(grid)
            if isinstance(grid, tuple) and len(grid) > 1 and all(type(n) is int for n in grid)
            else None
        )
        if tokens is None and type(width) is not int:
            return None
        by = f"{stage.cls.name}.{attr}"
        return Made(
            tokens, width if type(width) is int else None, by, found[0].module.display, call[0].lineno
        )

    def _named(self, scope: Scope, call: ast.Call) -> dict[str, ast.expr]:
        """The arguments of a call that builds a module by their names; those behind a style by its class's."""
        cls = self.project.resolve_expression(scope.module, call.func)
        values = call.args
        style = written_style(call)
        if style is not None and cls in wrappers(self.project):
            entries = [entry for table in registries(self.project) for entry in table.entries]
            cls = next((entry.target for entry in entries if entry.style == style), None)
            values = values[0 if any(word.arg == "style" for word in call.keywords) else 1 :]
        made = self.project.method(cls, "__init__") if isinstance(cls, ClassFacts) else None
        spec = made[1].args if made is not None else None
        names = [arg.arg for arg in (*spec.posonlyargs, *spec.args)][1:] if spec is not None else []
        given = dict(zip(names, values, strict=False))
        return {**given, **{word.arg: word.value for word in call.keywords if word.arg}}

    def _arguments(self, stage: Stage, constructor: ast.FunctionDef) -> Mapping[str, Any]:
        """Constructor arguments by name: what the script gives, else plain defaults."""
        given = self.given(constructor)
        if given is None:
            return {}
        spec, inside = constructor.args, Scope(stage.cls.module)
        names = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
        defaults = [
            *zip(reversed(names), reversed(spec.defaults), strict=False),
            *zip([arg.arg for arg in spec.kwonlyargs], spec.kw_defaults, strict=True),
        ]
        plain = {
            name: ScriptValues(self.project).value(default, inside)
            for name, default in defaults
            if default is not None
        }
        return {name: value for name, value in {**plain, **given}.items() if value is not None}

    def given(self, constructor: ast.FunctionDef) -> dict[str, Any] | None:
        """The arguments that the script builds a stage with, by name: None for a value that is not known.

        None in place of all where the call cannot be found or read.
        """
        call = build_call(self.script)
        if call is None:
            return None
        node, scope = call
        if any(keyword.arg is None for keyword in node.keywords) or any(
            isinstance(argument, ast.Starred) for argument in node.args
        ):
            return None
        spec = constructor.args
        names = [arg.arg for arg in (*spec.posonlyargs, *spec.args)][1:]
        written = dict(zip(names, node.args, strict=False))
        written.update({keyword.arg: keyword.value for keyword in node.keywords if keyword.arg})
        taken = {arg.arg for arg in all_arguments(spec)}
        return {name: self.values.value(value, scope) for name, value in written.items() if name in taken}


def _changes_grid(attr: str, call: ast.Call, given: Mapping[str, ast.expr]) -> bool:
    """Whether a submodule may send other tokens than it takes: what samples up or down names its input alone."""
    names = (attr, ast.unparse(call.func), written_style(call) or "")
    return "in_dim" in given or any(_RESAMPLES.search(str(name).lower()) for name in names)
