"""E7318"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..finding import Evidence, Finding
from ..language import tr
from ..project.own_attributes import is_closed, known, read_names, reads, set_outside
from ..project.project import Project
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class AttributeNeverSet(Rule):
    """A module reads an attribute of itself that nothing sets."""

    code, symbol = "E7318", "attribute-never-set"
    message = "`self.%(name)s` is read here, and neither `%(cls)s` nor a base of it sets it%(elsewhere)s"
    advice = "%(typed)s"
    why = (
        "When a model is cut into stages, layers move between constructors; a forward that still names one of another "
        "stage fails on that rank alone, and the others wait for it."
    )
    symptom = Symptom.CRASH
    runtime = (
        "AttributeError when the line runs; in a pipeline stage its own ranks alone fail, and the others wait"
    )
    limits = (
        "Silent where a base cannot be seen, where attributes are set by name or from outside, where the class or "
        "a base mentions the name as text, in a case that the constructor refuses or a handler expects, in methods "
        "that nothing calls, and for classes with subclasses."
    )
    guide = "beyond the guide"

    bad = """
    from torch import nn


    class Net_stage0(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.embed = nn.Linear(3, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            return self.widen(self.embed(x))  # [attribute-never-set]
    """
    good = """
    from torch import nn


    class Net_stage0(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.embed = nn.Linear(3, dim)
            self.widen = nn.Linear(dim, 2 * dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            return self.widen(self.embed(x))
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        for cls in project.classes():
            if not project.is_asked(cls.module) or project.is_framework(cls.module):
                continue
            if not project.is_module_class(cls):
                continue
            unset = {name for name in read_names(cls) if not name.startswith("_")} - known(project, cls)
            if unset:
                texts = [entry.text for entry in project.mro(cls) if isinstance(entry, ClassFacts)]
                unset = {name for name in unset if not _mentioned(texts, name)}
            if not any(reads(project, cls, unset)) or not is_closed(project, cls):
                continue
            if id(cls) in project.knowledge(_bases):
                continue  # a base may read what each of its subclasses sets
            seen: set[str] = set()
            for node in reads(project, cls, unset):
                if node.attr not in seen and not set_outside(project, node.attr):
                    seen.add(node.attr)
                    yield self._finding(project, cls, node)

    def _finding(self, project: Project, cls: ClassFacts, node: ast.Attribute) -> Finding:
        other = next((c for c in cls.module.classes.values() if c is not cls and _sets(c, node.attr)), None)
        near = difflib.get_close_matches(node.attr, sorted(known(project, cls)), 1, 0.8)
        return self.finding(
            place_of(cls.module, node),
            object=cls.name,
            evidence=()
            if other is None
            else (
                Evidence(
                    cls.module.display, other.node.lineno, tr("`%(other)s` sets its own", other=other.name)
                ),
            ),
            name=node.attr,
            cls=cls.name,
            elsewhere="" if not near else tr(" (it sets `self.%(near)s`)", near=near[0]),
            typed=tr(
                "Set `self.%(name)s` in the constructor, or write `self.%(near)s`.",
                name=node.attr,
                near=near[0],
            )
            if near
            else tr(
                "Set `self.%(name)s` in the constructor of this class, or call what this class has.",
                name=node.attr,
            ),
        )


def _bases(project: Project) -> frozenset[int]:
    """The classes that others are made from."""
    return frozenset(id(entry) for cls in project.classes() for entry in project.mro(cls) if entry is not cls)


def _mentioned(texts: list[str], name: str) -> bool:
    """Whether the class or a base names it as text: `register_buffer("table", …)`."""
    pattern = re.compile(rf"""['"]{re.escape(name)}['"]""")
    return any(pattern.search(text) for text in texts)


def _sets(cls: ClassFacts, name: str) -> bool:
    return re.search(rf"\bself\.{re.escape(name)}\s*(?::[^=\n]+)?=[^=]", cls.text) is not None
