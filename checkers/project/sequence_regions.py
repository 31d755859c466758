"""Classes that move between whole sequences and sequence shards: their calls of Megatron's region functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from .enclosing import calls_within
from .project import External, FunctionRef, Project, dotted_name

GATHER = "gather_from_sequence_parallel_region"
SCATTER = "scatter_to_sequence_parallel_region"
REDUCE = "reduce_scatter_to_sequence_parallel_region"


@dataclass(frozen=True)
class RegionCall:
    """`node` calls the sequence-region function `name` in `function` of `cls`; `around` is what it stands in."""

    cls: ClassFacts
    function: ast.FunctionDef
    node: ast.Call
    name: str
    around: tuple[ast.AST, ...]

    @property
    def own_group(self) -> bool:
        """Whether a group is named: expert and context groups have rules of their own."""
        return any(keyword.arg in ("group", "tp_group", None) for keyword in self.node.keywords)

    @property
    def target(self) -> str | None:
        """The name the result is bound to."""
        parent = self.around[-1] if self.around else None
        if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and parent.value is self.node:
            return dotted_name(parent.targets[0])
        return None


class SequenceRegions:
    """Every call of a sequence-region function in a module class of the tree, the framework's own left out."""

    def __init__(self, project: Project) -> None:
        self.calls = [call for cls in project.classes() for call in _region_calls(project, cls)]


def _region_calls(project: Project, cls: ClassFacts) -> Iterator[RegionCall]:
    if "sequence_parallel_region" not in cls.module.text or project.is_framework(cls.module):
        return
    if "sequence_parallel_region" not in cls.text or not project.is_module_class(cls):
        return
    for function in cls.methods.values():
        for node, around in calls_within(function):
            name = dotted_name(node.func)
            last = name.rsplit(".", 1)[-1] if name else ""
            if last in (GATHER, SCATTER, REDUCE) and _is_library(project, cls, name or ""):
                yield RegionCall(cls, function, node, last, around)


def _is_library(project: Project, cls: ClassFacts, name: str) -> bool:
    ref = project.resolve(cls.module, name)
    if isinstance(ref, External):
        return "tensor_parallel" in ref.dotted or "mappings" in ref.dotted
    return isinstance(ref, FunctionRef)


def torch_layers(project: Project, cls: ClassFacts) -> dict[str, str]:
    """Attributes that the constructor sets to layers of torch.nn, as `self.name`, with their classes."""
    found: dict[str, str] = {}
    for part in walk(cls.methods["__init__"]) if "__init__" in cls.methods else ():
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Call):
            ref = project.resolve(cls.module, dotted_name(part.value.func) or "")
            if isinstance(ref, External) and ref.dotted.startswith("torch.nn."):
                found.update({dotted_name(target) or "": ref.dotted for target in part.targets})
    return found
