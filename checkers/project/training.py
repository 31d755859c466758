"""The training scripts of a project: what they hand to `pretrain`, the stages they build, the shapes they declare."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ..facts.module import ClassFacts, ModuleFacts
from .project import FunctionRef, Project, dotted_name
from .scopes import Scope
from .spelled import count, listed, spelled_out
from .stage_maps import StageMap, names_map
from .stages import Family, Stages

_MARKS = ("pretrain(", "forward_step_func", "stage_shapes", "PipelineTensorShapeConfig", "def forward_step")
_ORDER = ("train_valid_test_dataset_provider", "model_provider", "model_type", "forward_step_func")
_SHAPES = "PipelineTensorShapeConfig"


@dataclass(frozen=True, eq=False)
class PretrainCall:
    """The call that starts training. `given` holds its arguments by name; `is_open` where `*` or `**` hides some."""

    node: ast.Call
    scope: Scope
    given: dict[str, ast.expr]
    is_open: bool


@dataclass(frozen=True, eq=False)
class ShapeConfig:
    """A `PipelineTensorShapeConfig(num_stages=…, stage_shapes=…)`: the shapes are None where they are computed.

    `count` is the number of stages, None where it is not known. The shapes are written in `shape_scope`.
    """

    node: ast.Call
    scope: Scope
    count: int | None
    boundaries: ast.List | ast.Tuple | None
    shape_scope: Scope

    def shapes(self, boundary: int) -> list[ast.expr] | None:
        """The shapes of what crosses one boundary, or None where they are not spelled out."""
        if self.boundaries is None or boundary >= len(self.boundaries.elts):
            return None
        entry = spelled_out(self.boundaries.elts[boundary], self.shape_scope)
        return None if entry is None else list(entry.elts)


class TrainingScript:
    """One script, as far as its text tells."""

    def __init__(self, project: Project, module: ModuleFacts) -> None:
        self.project, self.module = project, module
        self.top = Scope(module)

    @cached_property
    def scopes(self) -> list[Scope]:
        return list(self.top.all_scopes())

    @cached_property
    def calls(self) -> list[tuple[ast.Call, Scope]]:
        """Every call of the script with the function it stands in."""
        return [(node, scope) for scope in self.scopes for node in scope.calls]

    # -- pretrain ----------------------------------------------------------------------------------------------

    @cached_property
    def pretrain(self) -> PretrainCall | None:
        """The only call of the framework's `pretrain`; None when there is none, or several."""
        found = list(self._pretrain_calls())
        return found[0] if len(found) == 1 else None

    def _pretrain_calls(self) -> Iterator[PretrainCall]:
        for node, scope in self.calls:
            name = dotted_name(node.func) or ""
            if name.rsplit(".", 1)[-1] != "pretrain" or "pretrain" in self.top.functions:
                continue
            named = {keyword.arg for keyword in node.keywords}
            origin = self.origin(name)
            if not named & set(_ORDER) and not re.search(r"megatron|\.training\b", origin):
                continue
            starred = any(isinstance(arg, ast.Starred) for arg in node.args)
            given = {} if starred else dict(zip(_ORDER, node.args, strict=False))
            given.update({keyword.arg: keyword.value for keyword in node.keywords if keyword.arg})
            yield PretrainCall(node, scope, given, starred or None in named)

    def origin(self, name: str) -> str:
        """The dotted path a name was imported from, whether or not the file is there; "" when it was not."""
        head, _, rest = name.partition(".")
        for edge in self.module.edges:
            for alias in edge.node.names:
                local = alias.asname or (
                    alias.name if isinstance(edge.node, ast.ImportFrom) else alias.name.split(".")[0]
                )
                if local == head:
                    base = self.module.absolute(edge.module)
                    start = (
                        f"{base}.{alias.name}"
                        if isinstance(edge.node, ast.ImportFrom)
                        else alias.name
                        if alias.asname
                        else head
                    )
                    return f"{start}.{rest}" if rest else start
        return ""

    def function(self, node: ast.expr | None, scope: Scope) -> Scope | None:
        """The function of the tree that an expression names."""
        name = dotted_name(node) if node is not None else None
        if name is None:
            return None
        local = scope.find_function(name)
        if local is not None:
            return local
        owner = scope.owner_of(name)
        if owner is not None:
            value = scope.value(name)
            return self.function(value, owner) if isinstance(value, ast.Name) and value.id != name else None
        ref = self.project.resolve(self.module, name)
        return Scope(ref.module, ref.node, Scope(ref.module)) if isinstance(ref, FunctionRef) else None

    def handed(self, parameter: str) -> Scope | None:
        """The function that `pretrain` is given for a parameter."""
        call = self.pretrain
        return None if call is None else self.function(call.given.get(parameter), call.scope)

    @cached_property
    def forward_steps(self) -> list[Scope]:
        """Functions that run one micro-batch: `(data_iterator, model)`, by what `pretrain` gets or by their name."""
        found = [
            step
            for step in (self.handed("forward_step_func"),)
            if step is not None and step.module is self.module
        ]
        for name, scope in self.top.functions.items():
            is_step = name.startswith("forward_step") and re.search(
                r"iter|loader", (scope.parameters or [""])[0]
            )
            if is_step and all(scope.function is not step.function for step in found):
                found.append(scope)
        return found

    @cached_property
    def scheduled_steps(self) -> list[Scope]:
        """The forward steps, with those that a call of a schedule is given: `schedule(forward_step_func=step, …)`."""
        found = list(self.forward_steps)
        for node, scope in self.calls if "forward_step_func" in self.module.text else ():
            for keyword in node.keywords:
                step = self.function(keyword.value, scope) if keyword.arg == "forward_step_func" else None
                if step is not None and step.module is self.module:
                    if all(step.function is not other.function for other in found):
                        found.append(step)
        return found

    # -- stages ------------------------------------------------------------------------------------------------

    @cached_property
    def stage_map(self) -> StageMap | None:
        """The `{rank: Class}` of this script, or of a file that it names; None when there is none, or several."""
        every = self.project.knowledge(Stages).maps
        maps = [found for found in every if found.module is self.module]
        if not maps:
            maps = [found for found in every if any(self.names(node, found) for node in self._imported_names)]
        return maps[0] if len(maps) == 1 else None

    def names(self, node: ast.expr, found: StageMap) -> bool:
        """Whether an expression of the script names a map of another file, or the function that holds it."""
        return names_map(self.project, self.module, node, found)

    @cached_property
    def _imported_names(self) -> list[ast.expr]:
        """Every imported name that the script reads, once."""
        found: dict[str, ast.expr] = {}
        for scope in self.scopes:
            for node in scope.nodes:
                name = dotted_name(node) if isinstance(node, ast.Name | ast.Attribute) else None
                if name is not None and name.split(".")[0] in self.module.bindings:
                    found.setdefault(name, node)  # type: ignore[arg-type]  # one of the two
        return list(found.values())

    @cached_property
    def family(self) -> Family | None:
        """The stages this script builds: by its map, else the only family whose classes it imports."""
        stages = self.project.knowledge(Stages)
        if self.stage_map is not None:
            classes = [cls for cls in self.stage_map.entries.values() if cls is not None]
        else:
            known = {stage.cls.name for stage in stages}
            refs = [self.project.resolve(self.module, name) for name in self.module.bindings if name in known]
            classes = [ref for ref in refs if isinstance(ref, ClassFacts)]
        found = [stage.family for stage in map(stages.of, classes) if stage is not None]
        return found[0] if found and all(family is found[0] for family in found) else None

    @cached_property
    def shape_configs(self) -> list[ShapeConfig]:
        """Every PipelineTensorShapeConfig that the script builds."""
        return [
            self._shape_config(node, scope)
            for node, scope in self.calls
            if (dotted_name(node.func) or "").rsplit(".", 1)[-1] == _SHAPES
        ]

    def _shape_config(self, node: ast.Call, scope: Scope) -> ShapeConfig:
        given = dict(zip(("num_stages", "stage_shapes"), node.args, strict=False))
        given.update({keyword.arg: keyword.value for keyword in node.keywords if keyword.arg})
        shapes, where = listed(self, given.get("stage_shapes"), scope)
        return ShapeConfig(node, scope, count(self, given.get("num_stages"), scope), shapes, where)

    @cached_property
    def num_stages(self) -> int | None:
        """How many stages the script runs, by its shapes or its map; None when they do not say, or not the same."""
        said = {config.count for config in self.shape_configs}
        if not said and self.stage_map is not None:
            said = {len(self.stage_map.entries)}
        return said.pop() if len(said) == 1 else None

    @property
    def drives_stages(self) -> bool:
        """Whether the script trains stages written by the guide, rather than one of the framework's own models."""
        is_described = bool(self.shape_configs) or _SHAPES in self.module.bindings
        return is_described or self.family is not None or self.stage_map is not None


class Training:
    """All training scripts of a project; `project.knowledge(Training)` finds them once."""

    def __init__(self, project: Project) -> None:
        self.scripts = [
            TrainingScript(project, module)
            for module in project.modules
            if any(mark in module.text for mark in _MARKS) and not project.is_framework(module)
        ]

    def __iter__(self) -> Iterator[TrainingScript]:
        return iter(self.scripts)
