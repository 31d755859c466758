"""Brings the catalogs in `checkers/locale/zh` up to date: `python docs/make_locale.py`.

Every text that the checkers can say is read from their source and from the rule classes. New ones are added with an
empty `msgstr`, which a test refuses; those that nothing says any more are dropped.
"""

from __future__ import annotations

import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from typer.main import get_command

from onescience_check.checkers.frontends.cli import app
from onescience_check.checkers.language import COUNTED, catalog
from onescience_check.checkers.report.checklists import CHECKLISTS, SHORTENED
from onescience_check.checkers.report.verdict import BY_HAND
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
            if name == "Section":
                given += [node.args[0], *getattr(node.args[1], "elts", [node.args[1]])]
            before = "× " if name == "counted" else ""
            for value in given:
                for text in _texts(value, tree):
                    yield str(path.relative_to(CHECKERS)), before + text


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


def of_pages() -> Iterator[tuple[str, str]]:
    """File and text of what the templates of pages say."""
    for path in sorted(CHECKERS.rglob("templates/*")):
        for text in re.findall(r'\bsay\("([^"]+)"', path.read_text("utf-8")):
            yield str(path.relative_to(CHECKERS)), text


def of_help() -> Iterator[str]:
    """What `--help` says of every command and its options, by paragraphs."""
    group = get_command(app)
    texts = [group.help, group.epilog]
    for command in group.commands.values():
        texts += [command.help, *(param.help for param in command.params if param.name != "help")]
    for text in texts:
        yield from (" ".join(part.split()) for part in (text or "").split("\n\n"))


def of_tables() -> Iterator[str]:
    """Fixed texts of tables that are said as a whole."""
    yield from (COUNTED, BY_HAND, SHORTENED)
    for title, checks in CHECKLISTS.items():
        yield title
        for check in checks:
            yield check.text
            yield from (part.strip() for part in check.guide.split(";"))
    yield from (symptom.value for symptom in Symptom)


def all_texts() -> dict[str, tuple[str, str]]:
    """Every text: the catalog it belongs to, and the rule or file that it is from."""
    found: dict[str, tuple[str, str]] = {}
    own = {type(rule).__module__.rsplit(".", 1)[-1]: rule for rule in all_rules()}
    for path, text in of_code():
        room, name = path.split("/")[0], path.rsplit("/", 1)[-1].removesuffix(".py")
        if room != "rules":
            found.setdefault(text, (_catalog(room, name), path))
    for path, text in of_pages():
        found.setdefault(text, ("report", path))
    for text in of_help():
        found.setdefault(text, ("command", "--help"))
    for text in of_tables():
        found.setdefault(text, ("report", "report/checklists.py"))
    for rule in all_rules():
        for text in of_rule(rule):
            found.setdefault(text, (f"rules-{rule.code[1:3]}", f"{rule.code} {rule.symbol}"))
    for path, text in of_code():
        rule = own.get(path.rsplit("/", 1)[-1].removesuffix(".py")) if path.startswith("rules/") else None
        if rule is not None:
            found.setdefault(text, (f"rules-{rule.code[1:3]}", f"{rule.code} {rule.symbol}"))
    return {text: place for text, place in found.items() if text.strip(" .:")}


def _catalog(room: str, name: str) -> str:
    """The catalog of a file: that of its room, and one for all that the command itself says."""
    if room == "report" or name.startswith("report_"):
        return "report"
    if room in ("project", "spmd", "tpstate", "twins"):
        return "analysis"
    return room if room in ("diagnose", "repair") else "command"


def pages(known: dict[str, str]) -> dict[str, str]:
    """The catalogs by name, with what is known of their texts."""
    parts: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for text, (name, place) in all_texts().items():
        parts[name][place].append(text)
    made = {}
    for name, places in sorted(parts.items()):
        lines = ['msgid ""', 'msgstr ""', '"Language: zh\\n"', '"Content-Type: text/plain; charset=UTF-8\\n"']
        for place, texts in sorted(places.items(), key=lambda item: item[0].lstrip("EWRC")):
            for text in texts:
                lines += [
                    "",
                    f"#. {place}",
                    f"msgid {_quoted(text)}",
                    f"msgstr {_quoted(known.get(text, ''))}",
                ]
        made[name] = "\n".join(lines) + "\n"
    return made


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def main() -> None:
    """Write the catalogs."""
    folder = CHECKERS / "locale/zh"
    made = pages(catalog("zh"))
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.glob("*.po"):
        if file.stem not in made:
            file.unlink()
    for name, page in made.items():
        (folder / f"{name}.po").write_text(page, "utf-8")
    missing = sum(page.count('msgstr ""\n') for page in made.values()) - len(made)
    print(f"{missing} texts have no translation")


if __name__ == "__main__":
    main()
