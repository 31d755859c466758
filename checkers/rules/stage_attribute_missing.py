"""E7201"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import as_code, walk
from ..finding import Finding, Fix
from ..project.scopes import assignments
from ..project.stage_classes import attributes_set, constructor, hidden_base, parameters
from ..project.stages import Stage, Stages
from ..rule import Rule, Symptom
from ..tpstate.fixes import lines_after, replace, safe, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_WRAPS = re.compile(r"self\.module\s*=|add_module\(\s*['\"]module['\"]")

_REQUIRED = ("pre_process", "share_embeddings_and_output_weights", "config")

_SHARED = "share_embeddings_and_output_weights"


class StageAttributeMissing(Rule):
    """A stage does not set an attribute that Megatron's pipeline schedule reads."""

    code, symbol = "E7201", "stage-attribute-missing"
    message = "stage `%(cls)s` does not set `self.%(name)s` on every path of its constructor"
    advice = "Write `%(line)s` in `__init__`."
    why = (
        "The schedule walks through the wrappers of a model until it finds `config`, `pre_process` and "
        "`share_embeddings_and_output_weights`; a stage without them stops the first step."
    )
    symptom = Symptom.CRASH
    runtime = "RuntimeError: _get_attr_wrapped_model couldn't find attribute config"
    limits = (
        "Classes known as stages only by their `set_input_tensor` are held to `config` alone, in files that use "
        "Megatron, unless they set the two flags of the schedule. Silent where a base class outside the tree may set "
        "the attribute."
    )
    guide = "1.2: required attributes of a stage"
    fix_kind = "safe"
    fix_note = "The line stands in front of all others of the constructor, so whatever it sets later wins."

    bad = """
    from megatron.core.tensor_parallel import checkpoint
    from torch import nn


    class Net_stage1(nn.Module):
        def __init__(self, dim, config=None):  # [stage-attribute-missing]
            super().__init__()
            self.pre_process = None
            self.input_tensor = None
            self.config = config
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            return checkpoint(self.layer, False, self.input_tensor[0])
    """
    good = """
    from megatron.core.tensor_parallel import checkpoint
    from torch import nn


    class Net_stage1(nn.Module):
        def __init__(self, dim, config=None):
            super().__init__()
            self.pre_process = None
            self.share_embeddings_and_output_weights = None
            self.input_tensor = None
            self.config = config
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            return checkpoint(self.layer, False, self.input_tensor[0])
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for stage in analysis.project.knowledge(Stages):
            cls = stage.cls
            init = constructor(analysis.project, cls)
            node: ast.AST = init[1] if init is not None and init[0] is cls else cls.node
            if not hidden_base(analysis.project, cls):
                present = attributes_set(analysis.project, cls)
                for name in _required(analysis, stage, present):
                    if name not in present:
                        value = "config" if name == "config" else "None"
                        yield self.finding(
                            place_of(cls.module, node),
                            object=cls.name,
                            fix=_set(cls, node, name, f"self.{name} = {value}"),
                            cls=cls.name,
                            name=name,
                            line=f"self.{name} = {value}",
                        )
            yield from self._placeholder(analysis, stage)
            yield from self._shared(stage)
            yield from self._first(stage)

    def _first(self, stage: Stage) -> Iterator[Finding]:
        """`self.pre_process = True` in a stage that stands behind another."""
        cls = stage.cls
        if not stage.family.ordered or stage.is_first:
            return
        for node in _set_true(cls, "pre_process"):
            yield self.finding(
                place_of(cls.module, node),
                object=cls.name,
                fix=unsafe(replace(cls.module, node, "None")),
                message="stage `%(cls)s` says that it takes the raw input, and it stands behind another stage",
                advice="Write `self.pre_process = None`.",
                cls=cls.name,
            )

    def _shared(self, stage: Stage) -> Iterator[Finding]:
        """`self.share_embeddings_and_output_weights = True` in a stage without such weights."""
        cls = stage.cls
        if stage.rank is None or "shared_embedding_or_output_weight" in cls.module.text:
            return
        for node in _set_true(cls, _SHARED):
            yield self.finding(
                place_of(cls.module, node),
                object=cls.name,
                fix=unsafe(replace(cls.module, node, "None")),
                message="stage `%(cls)s` says that it shares embedding and output weights, and it has none",
                advice="Write `self.share_embeddings_and_output_weights = None`.",
                cls=cls.name,
            )

    def _placeholder(self, analysis: Analysis, stage: Stage) -> Iterator[Finding]:
        """`self.config = None` that nothing fills in later."""
        cls = stage.cls
        init = cls.methods.get("__init__")
        if init is None or "self.config" not in cls.text:
            return
        writes = [node for node in walk(cls.node) if _writes_config(node)]
        empty = [node for node in writes if isinstance(node.value, ast.Constant) and node.value.value is None]  # type: ignore[attr-defined]
        if not empty or len(empty) != len(writes) or _filled_elsewhere(analysis, cls.name):
            return
        yield self.finding(
            place_of(cls.module, empty[0]),
            object=cls.name,
            message="stage `%(cls)s` sets `self.config` to None, and nothing sets it to a real config later",
            advice="Write `self.config = config` with Megatron's config object.",
            cls=cls.name,
        )


def _set(cls: ClassFacts, init: ast.AST, name: str, line: str) -> Fix | None:
    """The line behind `super().__init__(…)`; None where the constructor has no such line or no such parameter."""
    if not isinstance(init, ast.FunctionDef) or (name == "config" and "config" not in parameters(init)):
        return None
    first = next((part for part in init.body if "super()" in ast.unparse(part)), None)
    return safe(lines_after(cls.module, first, line)) if isinstance(first, ast.Expr) else None


def _required(analysis: Analysis, stage: Stage, present: set[str]) -> tuple[str, ...]:
    """What this stage must set: all of it where it is meant as one, `config` alone where only the setter says so."""
    if stage.rank is not None:
        return _REQUIRED
    text = stage.cls.text
    if _WRAPS.search(text):
        return ()  # the schedule looks for what it needs in the module that is wrapped
    if {"pre_process", "share_embeddings_and_output_weights"} <= present and "self.input_tensor = " in text:
        return _REQUIRED if text.count("self.input_tensor") > 1 else ()
    is_trained = "megatron" in stage.cls.module.text.lower()
    return ("config",) if is_trained and not _filled_elsewhere(analysis, stage.cls.name) else ()


def _writes_config(node: ast.AST) -> bool:
    return isinstance(node, ast.Assign) and any(
        isinstance(target, ast.Attribute) and target.attr == "config" and ast.unparse(target.value) == "self"
        for target in node.targets
    )


def _filled_elsewhere(analysis: Analysis, name: str) -> bool:
    """Whether a file that names the class assigns a `.config` of something."""
    assigned = re.compile(r"(?<!self)\.config\s*=[^=]|setattr\([^)]*[\"']config[\"']")
    return any(name in module.words and assigned.search(module.text) for module in analysis.project.modules)


def _set_true(cls: ClassFacts, name: str) -> Iterator[ast.expr]:
    """The `True` of `self.name = True` in a class, also of one among several that are set at once."""
    for node in walk(cls.node) if f"self.{name}" in cls.text else ():
        for target, value in assignments(node):
            if as_code(target) == f"self.{name}" and isinstance(value, ast.Constant) and value.value is True:
                yield value
