"""W7308"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from ..finding import Evidence, Finding
from ..language import tr
from ..project.distributed import distributed_classes, handed_on, original_of, used_names
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class ParameterDropped(Rule):
    """A distributed module takes a parameter that its original passes on, and never uses it."""

    code, symbol = "W7308", "parameter-dropped"
    message = "`%(cls)s` takes `%(name)s` and never uses it; `%(original)s` passes it on (line %(line)d)"
    advice = "Pass `%(name)s=%(name)s` to what `%(original)s` gives it to."
    why = (
        "The distributed module then runs with the default of its parts, whatever the stage asks for: another window, "
        "no stochastic depth. Nothing fails, and the weights of the original no longer mean the same."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "no error: losses of the original and the distributed model part from the first step"
    limits = "Silent where no original is found, where the parameter is stored, and for a constructor with `locals()`."
    guide = "Principles: keep the parameters of the original"

    bad = """
    from torch import nn


    class Block(nn.Module):
        def __init__(self, dim, window_size=(2, 6, 12)):
            super().__init__()
            self.window_size = window_size


    class IceFuser(nn.Module):
        def __init__(self, dim, window_size=(2, 6, 12)):
            super().__init__()
            self.block = Block(dim, window_size=window_size)


    class IceDistributedFuser(nn.Module):
        def __init__(self, dim, window_size=(2, 6, 12), config=None):  # [parameter-dropped]
            super().__init__()
            self.block = Block(dim)
    """
    good = """
    from torch import nn


    class Block(nn.Module):
        def __init__(self, dim, window_size=(2, 6, 12)):
            super().__init__()
            self.window_size = window_size


    class IceFuser(nn.Module):
        def __init__(self, dim, window_size=(2, 6, 12)):
            super().__init__()
            self.block = Block(dim, window_size=window_size)


    class IceDistributedFuser(nn.Module):
        def __init__(self, dim, window_size=(2, 6, 12), config=None):
            super().__init__()
            self.block = Block(dim, window_size=window_size)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        for cls in distributed_classes(project):
            method = cls.methods.get("__init__")
            if method is None:
                continue
            used = used_names(method)
            spec = method.args
            unused = [arg for arg in (*spec.args[1:], *spec.kwonlyargs) if arg.arg not in used | {"config"}]
            original = original_of(project, cls) if unused and "locals" not in used else None
            if original is None or "__init__" not in original.methods:
                continue
            given = handed_on(original.methods["__init__"]) & _parameters(original)
            for arg in unused:
                if arg.arg in given:
                    line = _line_of(original.methods["__init__"], arg.arg)
                    yield self.finding(
                        place_of(cls.module, arg),
                        object=cls.name,
                        evidence=(
                            Evidence(
                                original.module.display,
                                line,
                                tr("`%(original)s` passes it on here", original=original.name),
                            ),
                        ),
                        cls=cls.name,
                        name=arg.arg,
                        original=original.name,
                        line=line,
                    )


def _parameters(cls: ClassFacts) -> set[str]:
    spec = cls.methods["__init__"].args
    return {arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)}


def _line_of(method: ast.FunctionDef, name: str) -> int:
    lines = [
        part.lineno
        for node in walk(method)
        if isinstance(node, ast.Call)
        for value in (*node.args, *(keyword.value for keyword in node.keywords))
        for part in ast.walk(value)
        if isinstance(part, ast.Name) and part.id == name
    ]
    return min(lines)
