"""The rules as Pylint messages: the findings of the same engine, on Pylint's nodes.

The engine runs once per project and process, over the whole project around the first module that Pylint hands over, so
that a single file is understood as well as a tree. Pylint itself applies `# pylint: disable=`, its own enable and
disable lists and `-j`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from astroid import nodes
from pylint.checkers import BaseChecker
from pylint.interfaces import HIGH, INFERENCE

from ..finding import Finding, Place
from ..language import local, speaking, tr
from ..rules import all_rules
from ..suppression import PLUGIN
from .pylint_projects import AnalysisError, Projects
from .streams import visible

if TYPE_CHECKING:
    from pylint.lint import PyLinter
    from pylint.typing import MessageDefinitionTuple

BROKEN = "onescience-check-failed"


def _messages(block: str) -> dict[str, MessageDefinitionTuple]:
    return {
        rule.code: ("%s", rule.symbol, f"{rule.title()} {' '.join(rule.why.split())}")
        for rule in all_rules()
        if rule.code[1:3] == block
    }


class _Block(BaseChecker):
    """The rules of one block of ids: Pylint wants the ids of a checker to share their first two digits."""

    name = PLUGIN  # one name for all blocks: --enable=onescience means every rule
    projects = Projects()
    prefix: str

    def visit_module(self, module: nodes.Module) -> None:
        """Report the findings of a module."""
        try:
            findings = self.projects.findings(module, self.linter.config)
        except AnalysisError as error:
            self.add_message(BROKEN, node=module, line=1, args=(str(error),))
            return
        wanted = [finding for finding in findings if finding.code[1:3] == self.prefix]
        if wanted:
            by_span = _nodes_by_span(module)
            for finding in wanted:
                self._report(finding, by_span, module)

    def _report(
        self, finding: Finding, by_span: dict[tuple[int, int, int, int], nodes.NodeNG], module: nodes.Module
    ) -> None:
        place = finding.place
        self.add_message(
            finding.symbol,
            line=place.line,
            node=_node_at(place, by_span) or module,
            args=(_text(finding, self.linter.config.onescience_lang),),
            confidence=HIGH if finding.confidence == "high" else INFERENCE,
            col_offset=place.column,
            end_lineno=place.end_line,
            end_col_offset=place.end_column,
        )


class TensorParallelChecker(_Block):
    """71: tensor parallel. Holds the options of all blocks."""

    prefix = "71"
    msgs = {
        "F7100": ("%s", BROKEN, "The settings cannot be used, or the analysis failed: nothing was checked."),
        **_messages("71"),
    }
    options = (
        (
            "onescience-tp",
            {
                "type": "csv",
                "default": (),
                "metavar": "<sizes>",
                "help": "Tensor-parallel sizes that must work; setup.cfg or pyproject.toml says otherwise (1,2,4,8).",
            },
        ),
        (
            "onescience-profile",
            {
                "type": "choice",
                "choices": ("", "auto", "guide", "universal"),
                "default": "",
                "metavar": "<profile>",
                "help": "Whether the rules of the OneScience guide apply; setup.cfg or pyproject.toml says otherwise.",
            },
        ),
        (
            "onescience-lang",
            {
                "type": "choice",
                "choices": ("en", "zh"),
                "default": "en",
                "metavar": "<language>",
                "help": "Language of the messages: en or zh.",
            },
        ),
    )


class StageChecker(_Block):
    """72: pipeline stages."""

    prefix, msgs = "72", _messages("72")


class InterfaceChecker(_Block):
    """73: module interfaces."""

    prefix, msgs = "73", _messages("73")


class StructureChecker(_Block):
    """74: project structure."""

    prefix, msgs = "74", _messages("74")


class TrainingChecker(_Block):
    """75: training scripts."""

    prefix, msgs = "75", _messages("75")


class NumericsChecker(_Block):
    """76: numerics and cost."""

    prefix, msgs = "76", _messages("76")


def register(linter: PyLinter) -> None:
    """Register the checker of every block that has rules.

    Older Pylints call this again in each process of `-j`, on a linter that has the checkers already.
    """
    there = {type(checker) for checker in linter.get_checkers()}
    for checker in (
        TensorParallelChecker,
        StageChecker,
        InterfaceChecker,
        StructureChecker,
        TrainingChecker,
        NumericsChecker,
    ):
        if checker.msgs and checker not in there:
            linter.register_checker(checker(linter))


def _text(finding: Finding, language: str) -> str:
    """Message, evidence and what to type, on one line."""
    with speaking(language):
        return visible(" ".join(_parts(finding)))


def _parts(finding: Finding) -> list[str]:
    own = finding.place.path
    steps = [
        f"{local(tr('line %(line)s', line=step.line)) if step.path == own else f'{step.path}:{step.line}'}: "
        f"{local(step.text)}"
        for step in finding.evidence
    ]
    parts = [f"{local(finding.message)}{'' if steps else '.'}"]
    if steps:
        parts.append(f"({local('because')} {'; '.join(steps)}).")
    if finding.advice:
        parts.append(local(finding.advice))
    return parts


def _nodes_by_span(module: nodes.Module) -> dict[tuple[int, int, int, int], nodes.NodeNG]:
    """Nodes by first line, first column, last line, last column; the innermost of those with one span."""
    found: dict[tuple[int, int, int, int], nodes.NodeNG] = {}
    todo: list[Any] = [module]
    while todo:
        node = todo.pop()
        todo += node.get_children()
        if None not in (span := (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)):
            found[span] = node
    return found


def _node_at(place: Place, by_span: dict[tuple[int, int, int, int], nodes.NodeNG]) -> nodes.NodeNG | None:
    """The node of a span, or the first node that starts on its line (Pylint counts columns in bytes)."""
    exact = by_span.get((place.line, place.column, place.end_line, place.end_column))
    if exact is not None:
        return exact
    started = [span for span in by_span if span[0] == place.line]
    return by_span[min(started, key=lambda span: abs(span[1] - place.column))] if started else None
