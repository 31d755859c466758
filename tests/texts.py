"""Every text that the checkers can say, read from their source and from the rule classes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from onescience_check.checkers.report.checklists import CHECKLISTS
from onescience_check.checkers.rule import Rule, Symptom
from onescience_check.checkers.rules import all_rules

CHECKERS = Path(__file__).parent.parent / "checkers"
SAYING = {"tr": 0, "local": 0, "listed": 0, "counted": 1}
"""Functions of `language`, and which argument of theirs is a text."""


def of_rule(rule: Rule) -> Iterator[str]:
    """What the class of a rule says."""
    for text in (rule.title(), rule.message, rule.advice, rule.why, rule.runtime, rule.limits, rule.fix_note):
        if text.strip():
            yield text if text in (rule.message, rule.advice) else " ".join(text.split())
    yield from (part.strip() for part in rule.guide.split(";"))


def of_code() -> Iterator[tuple[str, str]]:
    """File and text of every call that says something, and of each message and advice that a rule gives by itself."""
    for path in sorted(CHECKERS.rglob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            given = [node.args[SAYING[name]]] if name in SAYING and len(node.args) > SAYING[name] else []
            if name in ("finding", "_found", "_finding"):
                given += [word.value for word in node.keywords if word.arg in ("message", "advice")]
            for value in given:
                yield from ((str(path.relative_to(CHECKERS)), text) for text in _texts(value, tree))


def _texts(value: ast.expr, tree: ast.Module, follow: bool = True) -> Iterator[str]:
    """The texts an expression can be: a literal, one of several, or what a name is set to somewhere in the file."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value
    elif isinstance(value, ast.IfExp):
        yield from _texts(value.body, tree, follow)
        yield from _texts(value.orelse, tree, follow)
    elif isinstance(value, ast.Name) and follow:
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and any(
                isinstance(target, ast.Name) and target.id == value.id for target in node.targets
            ):
                yield from _texts(node.value, tree, follow=False)


def of_tables() -> Iterator[str]:
    """Fixed texts of tables that are said as a whole."""
    for title, checks in CHECKLISTS.items():
        yield title
        for check in checks:
            yield check.text
            yield from (part.strip() for part in check.guide.split(";"))
    yield from (symptom.value for symptom in Symptom)


def all_texts() -> dict[str, str]:
    """Every text, and where it is from: the id of a rule, or a file."""
    found: dict[str, str] = {}
    for rule in all_rules():
        for text in of_rule(rule):
            found.setdefault(text, rule.code)
    for path, text in of_code():
        found.setdefault(text, path)
    for text in of_tables():
        found.setdefault(text, "report/checklists.py")
    return {text: place for text, place in found.items() if text.strip()}
