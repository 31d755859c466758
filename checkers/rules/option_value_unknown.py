"""W7567"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ModuleFacts
from ..facts.nodes import walk
from ..finding import Evidence, Finding
from ..language import tr
from ..project.project import Project, dotted_name
from ..rule import Rule, Symptom
from ..spmd.frames import Frame, functions
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_OPTIONS = re.compile(r"(^|\.)_?(args|arguments|opts?|options)$|(^|\.)_?(\w*config|cfg)$")
_DECLARES = re.compile(r"choices\s*=")
_KNOWN = {
    "recompute_granularity": frozenset({"full", "selective"}),
    "recompute_method": frozenset({"uniform", "block"}),
}
"""Options of Megatron that its own files check, for trees that do not hold them."""


class OptionValueUnknown(Rule):
    """An option is compared with a value that it never has."""

    code, symbol = "W7567", "option-value-unknown"
    message = "`%(option)s` is never %(value)s: it takes %(choices)s"
    advice = "Write one of the values that the option takes."
    why = (
        "A comparison with a value that the command line refuses is always false: what it guards never runs."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "no error: the option is accepted, and changes nothing"
    limits = (
        "Options whose `add_argument` lists literal choices in the same file, and values that are nearly those of "
        "Megatron's options for recomputation, anywhere. Silent where the tree sets that value."
    )
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "The nearest value is typed; another may be meant."

    bad = """
    from megatron.core.transformer.module import MegatronModule


    class Net_stage0(MegatronModule):
        def __init__(self, config):
            super().__init__(config)
            self.recompute = config.recompute_granularity == "Full"  # [option-value-unknown]
    """
    good = bad.replace('"Full"  # [option-value-unknown]', '"full"')

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        choices = analysis.project.knowledge(Choices)
        for frame in functions(analysis.project, choices.named):
            for node in frame.scope.of(ast.Compare):
                if len(node.ops) == 1:
                    yield from self._compared(node, frame, choices)

    def _compared(self, node: ast.Compare, frame: Frame, choices: Choices) -> Iterator[Finding]:
        sides = [node.left, node.comparators[0]]
        option = next((side for side in sides if isinstance(side, ast.Attribute)), None)
        base = dotted_name(option.value) if option is not None else None
        if option is None or base is None or not _OPTIONS.search(base) or option.attr not in choices.of:
            return
        if isinstance(node.ops[0], ast.In | ast.NotIn) and sides[0] is not option:
            return
        wanted = choices.of[option.attr]
        for value in _texts(sides[1] if sides[0] is option else sides[0]):
            text = str(value.value)
            near = difflib.get_close_matches(text.lower(), sorted(wanted), n=1, cutoff=0.75)
            if text in wanted or choices.is_set(option.attr, text):
                continue
            where = choices.declared.get(option.attr)
            is_here = where is not None and where[0] is frame.module and base.endswith("args")
            if not is_here and not (near and option.attr in _KNOWN):
                continue  # another command line may know it
            evidence = (
                (Evidence(where[0].display, where[1].lineno, tr("the option is declared here")),)
                if where
                else ()
            )
            yield self.finding(
                place_of(frame.module, value),
                object=frame.function_name,
                evidence=evidence,
                fix=unsafe(replace(frame.module, value, f'"{near[0]}"')) if near else None,
                option=ast.unparse(option),
                value=f'"{text}"',
                choices=", ".join(f'"{choice}"' for choice in sorted(wanted)),
            )


class Choices:
    """The options of all command lines of a tree that take a few texts."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.of: dict[str, frozenset[str]] = {}
        self.declared: dict[str, tuple[ModuleFacts, ast.Call]] = {}
        free: set[str] = set()
        for module in project.modules:
            for node in walk(module.tree) if module.says(_DECLARES) else ():
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                    if node.func.attr == "add_argument":
                        self._declare(module, node, free)
        for name in free:
            self.of.pop(name, None)
        for name, known in _KNOWN.items():
            self.of[name] = self.of.get(name, frozenset()) | known
        self.named = re.compile("|".join(sorted(filter(str.isidentifier, self.of))))

    def _declare(self, module: ModuleFacts, node: ast.Call, free: set[str]) -> None:
        given = {word.arg: word.value for word in node.keywords}
        flags = [str(arg.value) for arg in node.args if isinstance(arg, ast.Constant)]
        flag = next((flag for flag in flags if flag.startswith("--")), "")
        dest = given.get("dest")
        name = str(dest.value) if isinstance(dest, ast.Constant) else flag[2:].replace("-", "_")
        listed = given.get("choices")
        values = _texts(listed) if isinstance(listed, ast.List | ast.Tuple | ast.Set) else []
        if not values or len(values) != len(getattr(listed, "elts", ())):
            free.add(name)
            return
        self.of[name] = self.of.get(name, frozenset()) | {str(value.value) for value in values}
        self.declared.setdefault(name, (module, node))

    def is_set(self, name: str, value: str) -> bool:
        """Whether code of the tree gives an option that value."""
        written = re.compile(rf"""\b{re.escape(name)}["'\]]*\s*[=:]\s*[rf]?["']{re.escape(value)}["']""")
        return any(module.says(written) for module in self.project.modules)


def _texts(node: ast.expr) -> list[ast.Constant]:
    """The texts that something is compared with: one, or those of a list."""
    parts = node.elts if isinstance(node, ast.List | ast.Tuple | ast.Set) else [node]
    return [part for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
