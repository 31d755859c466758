"""From events to what a rule says: places, chains of evidence, and whether something is certain."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from ..facts.module import ModuleFacts
from ..finding import Evidence, Place
from .events import Event, Site, says_one_rank
from .states import Step
from .values import Tensor, Value

E = TypeVar("E", bound=Event)

MAX_EVIDENCE = 8

_MAX_CHOICES = 6


def place_of(module: ModuleFacts, node: ast.AST) -> Place:
    """The span of a node, columns in characters."""
    line: int = getattr(node, "lineno", 1)
    end_line: int = getattr(node, "end_lineno", None) or line
    column = _characters(module, line, getattr(node, "col_offset", 0))
    end = getattr(node, "end_col_offset", None)
    end_column = _characters(module, end_line, end) if end is not None else column + 1
    return Place(module.display, line, column, end_line, end_column)


def _characters(module: ModuleFacts, line: int, offset: int) -> int:
    text = module.lines[line - 1] if 0 < line <= len(module.lines) else ""
    return offset if text.isascii() else len(text.encode()[:offset].decode(errors="ignore"))


def site_place(site: Site) -> Place:
    """The span of an event's node."""
    return place_of(site.module, site.node)


def evidence(*steps: Step | None) -> tuple[Evidence, ...]:
    """The chain behind some values, oldest first."""
    found: list[Evidence] = []
    for step in steps:
        if step is None:
            continue
        for link in step.chain():
            entry = Evidence(link.path, link.line, link.text)
            if entry not in found:
                found.append(entry)
    return tuple(found[-MAX_EVIDENCE:])


def at(site: Site, text: str) -> Evidence:
    """One more link, at a site."""
    return Evidence(site.module.display, site.node.lineno, text)


def why(value: Value) -> Step | None:
    return value.why if isinstance(value, Tensor) else None


def by_site(events: Iterable[Event], kind: type[E]) -> Iterator[list[E]]:
    """Events of one kind, grouped by the place where they happened, in order of first appearance."""
    groups: dict[tuple[str, int, int], list[E]] = {}
    for event in events:
        if type(event) is kind:
            groups.setdefault(event.site.key, []).append(event)
    yield from groups.values()


def first_certain(events: Sequence[E]) -> E | None:
    """An event that happens for sure; events that together cover both sides of one open choice count too."""
    for event in events:
        if event.certain:
            return event
    split = [event for event in events if not event.on_one_rank]
    for event in split:
        same = [_open_choices(other) for other in split if other.branch == event.branch]
        if _cover(same, {}):
            return event
    return None


def _open_choices(event: Event) -> dict[str, bool]:
    """The alternatives an event stands for, but for those of one rank and several."""
    return {key: side for key, side in event.choice.items() if not says_one_rank(key, not side)}


def _cover(sides: Sequence[dict[str, bool]], given: dict[str, bool], depth: int = 0) -> bool:
    """Whether one of these alternatives holds whichever way the open choices go."""
    fitting = [side for side in sides if all(given.get(key, value) == value for key, value in side.items())]
    if any(side.items() <= given.items() for side in fitting):
        return True
    keys = [key for side in fitting for key in side if key not in given]
    if not keys or depth >= _MAX_CHOICES:
        return False
    return all(_cover(fitting, {**given, keys[0]: side}, depth + 1) for side in (True, False))


def owner_name(event: Event) -> str:
    """The class (and method) an event happened in, for the `object` of a finding."""
    return event.owner.name if event.owner is not None else event.site.module.name
