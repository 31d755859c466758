"""Reading the files that the setting `plugins` names: of a checked tree they alone are run."""

from __future__ import annotations

import inspect
import re
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from ..files.source import Unusable, decode, read_bytes
from ..language import tr
from ..rule import Rule
from ..rules import all_rules, use_rules
from ..settings import Settings, SettingsError
from .interface import INTERFACE, ProjectRule

_CODE = re.compile(r"[EWRC]9\d{3}")
_SYMBOL = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")


def use_plugins(settings: Settings) -> None:
    """Apply the rules of the files that the settings name, from now on, and no others besides ours.

    Raises:
        SettingsError: one of the files, or a rule in it, cannot be used.
    """
    use_rules(())
    found: list[Rule] = []
    for name in settings.plugins:
        for rule in _rules(settings.base / name, name):
            for other in (*all_rules(), *found):
                if rule.code[1:] == other.code[1:] or rule.symbol == other.symbol:
                    said = "%(code)s %(symbol)s: there is a rule %(other)s already"
                    taken = f"{other.code} {other.symbol}"
                    raise _refused(name, tr(said, code=rule.code, symbol=rule.symbol, other=taken))
            found.append(rule)
    use_rules(tuple(found))


def _rules(path: Path, name: str) -> Iterator[ProjectRule]:
    module = _module(path, name)
    stated = getattr(module, "INTERFACE", None)
    if stated != INTERFACE:
        said = "write `INTERFACE = %(known)s`, the form of `onescience_check.plugin` that it was written for"
        if stated is not None:
            said = "it was written for form %(stated)s of `onescience_check.plugin`, and this is %(known)s"
        raise _refused(name, tr(said, stated=stated, known=INTERFACE))
    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, ProjectRule) and value.__module__ == module.__name__
    ]
    if not classes:
        raise _refused(
            name, tr("it holds no rule: write a subclass of `onescience_check.plugin.ProjectRule`")
        )
    for cls in classes:
        if not inspect.isabstract(cls) and not cls.__name__.startswith("_"):
            yield _checked(cls, name)


def _checked(cls: type[ProjectRule], name: str) -> ProjectRule:
    """An instance of a rule that has all it needs."""
    code, symbol = getattr(cls, "code", None), getattr(cls, "symbol", None)
    if not isinstance(code, str) or not _CODE.fullmatch(code):
        said = "%(cls)s.code is %(code)s: write a letter of E, W, R, C and four digits from 9000 on"
        raise _refused(name, tr(said, cls=cls.__name__, code=repr(code)))
    if not isinstance(symbol, str) or not _SYMBOL.fullmatch(symbol):
        said = "%(cls)s.symbol is %(symbol)s: write words with hyphens between them"
        raise _refused(name, tr(said, cls=cls.__name__, symbol=repr(symbol)))
    if not isinstance(getattr(cls, "message", None), str):
        raise _refused(name, tr("%(cls)s has no message", cls=cls.__name__))
    if cls.look is ProjectRule.look:
        raise _refused(name, tr("%(cls)s has no method `look`", cls=cls.__name__))
    try:
        made = cls()
    except Exception as error:
        raise _refused(name, fault(error, name)) from None
    made.source = name
    return made


def _module(path: Path, name: str) -> ModuleType:
    try:
        text = decode(read_bytes(path))
    except Unusable as reason:
        raise _refused(name, str(reason)) from None
    module = ModuleType("onescience_check_plugin_" + re.sub(r"\W", "_", name))
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses look their module up
    try:
        exec(compile(text, str(path), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        raise _refused(name, fault(error, str(path))) from None
    return module


def fault(error: BaseException, path: str) -> str:
    """What went wrong in a file of the project, on one line, with the line of the file."""
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename.endswith(path)
    ]
    if isinstance(error, SyntaxError):
        lines = [error.lineno]
    text = " ".join(f"{type(error).__name__}: {getattr(error, 'msg', None) or error}".split())
    if not lines or lines[-1] is None:
        return text
    return tr("line %(line)s: %(text)s", line=lines[-1], text=text)


def _refused(name: str, reason: str) -> SettingsError:
    return SettingsError(tr("plugins: %(name)s: %(reason)s", name=name, reason=reason))
