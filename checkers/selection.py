"""Which rules a run applies: `select` and `ignore`, by symbol, by id or by the beginning of an id."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from pathlib import Path

from .files.walk import is_ignored, patterns
from .finding import Finding
from .language import tr
from .rule import Rule
from .rules import all_rules
from .settings import Settings, SettingsError, words


def selected_rules(settings: Settings) -> tuple[Rule, ...]:
    """The rules that `select` names (all when empty) and `ignore` does not.

    Raises:
        SettingsError: a name matches no rule.
    """
    wanted = _matching(settings.select, "select") if settings.select else set(all_rules())
    unwanted = _matching(settings.ignore, "ignore")
    return tuple(rule for rule in all_rules() if rule in wanted and rule not in unwanted)


def ignored_files(settings: Settings) -> Callable[[Path, str], bool]:
    """Which rules are ignored in which files, by path and symbol; patterns are relative to the settings file.

    Raises:
        SettingsError: a name matches no rule.
    """
    rows = [
        (
            patterns(str(settings.base), (row["name"],)),
            {rule.symbol for rule in _matching(words(row["ignore"]), "per-file-ignores")},
        )
        for row in settings.per_file_ignores
    ]

    def is_ignored_in(path: Path, symbol: str) -> bool:
        return path.is_relative_to(settings.base) and any(
            symbol in symbols and is_ignored(str(path), rules) for rules, symbols in rows
        )

    return is_ignored_in


def check_names(settings: Settings) -> None:
    """Refuse names that match no rule.

    Raises:
        SettingsError: there is one, in any of the settings that name rules.
    """
    selected_rules(settings)
    ignored_files(settings)
    _matching(settings.fail_on, "fail-on")


def is_failing(finding: Finding, settings: Settings) -> bool:
    """Whether a finding makes the exit code 1."""
    return any(_matches(finding, name) for name in settings.fail_on)


def find_rules(name: str) -> tuple[Rule, ...]:
    """The rules of a symbol, an id or the beginning of one; the letter of an id may be that of an earlier version.

    Raises:
        SettingsError: there is none.
    """
    for rule in all_rules():
        if name.lower() == rule.symbol:
            return (rule,)
    code = name.upper()
    found = [rule for rule in all_rules() if _matches(rule, code)]
    if not found and re.fullmatch(r"[EWRC]\d{4}", code):
        found = [rule for rule in all_rules() if rule.code[1:] == code[1:]]
    if not found:
        raise SettingsError(_unknown(name))
    return tuple(found)


def _matching(names: tuple[str, ...], key: str) -> set[Rule]:
    found: set[Rule] = set()
    for name in names:
        matching = {rule for rule in all_rules() if _matches(rule, name)}
        if not matching:
            raise SettingsError(tr("%(key)s: %(error)s", key=key, error=_unknown(name)))
        found |= matching
    return found


def _matches(rule: Rule | Finding, name: str) -> bool:
    return name == rule.symbol or (bool(re.fullmatch(r"[EWRC]\d*", name)) and rule.code.startswith(name))


def _unknown(name: str) -> str:
    known = [word for rule in all_rules() for word in (rule.symbol, rule.code)]
    near = (
        _meant_kinds(name)
        or [rule.code for rule in all_rules() if rule.code[1:] == name]
        or difflib.get_close_matches(name, known, 1)
        or difflib.get_close_matches(name.upper(), known, 1)
    )
    hint = tr("did you mean %(near)s?", near=near[0]) if near else tr("`onescience-check rules` lists all")
    return tr("no rule is called %(name)s; %(hint)s", name=repr(name), hint=hint)


def _meant_kinds(name: str) -> list[str]:
    """`EW`, `e` and `errors` mean beginnings of ids."""
    words = {"error": "E", "warning": "W", "refactor": "R", "convention": "C"}
    kinds = words.get(name.lower().removesuffix("s"), name.upper())
    known = {rule.code[0] for rule in all_rules()}
    return [",".join(kinds)] if set(kinds) <= known and ",".join(kinds) != name else []
