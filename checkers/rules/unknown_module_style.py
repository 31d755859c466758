"""E7306"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding, Fix
from ..language import tr
from ..project.registries import is_extended
from ..rule import Rule, Symptom
from ..tpstate.callers import callee_text, sites, written_in
from ..tpstate.events import Site, UnknownKey
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import at, first_certain, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class UnknownModuleStyle(Rule):
    """A wrapper is asked for a style that its registry does not have."""

    code, symbol = "E7306", "unknown-module-style"
    message = '`%(call)s` asks for the style "%(style)s", which `%(registry)s` does not have'
    advice = "%(hint)s"
    why = "A style is a string: a misspelt or never registered one is found only when the model is built."
    symptom = Symptom.CRASH
    runtime = "KeyError or NotImplementedError: Unknown fuser style, when the stage is built"
    limits = (
        "Silent when the style or the registry's keys are computed, when the registry is added to anywhere, and when "
        "the lookup stands in a `try` that goes on."
    )
    guide = "2.2: register the distributed modules"
    maturity = "stable"
    fix_kind = "unsafe"
    fix_note = "The nearest name is a guess."

    bad = """
    from torch import nn

    _MLP_REGISTRY = {"StandardMLP": nn.Linear}


    class OneMlp(nn.Module):
        def __init__(self, style, **kwargs):
            super().__init__()
            if style not in _MLP_REGISTRY:
                raise NotImplementedError(style)
            self.mlp = _MLP_REGISTRY[style](**kwargs)


    class Block(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.mlp = OneMlp(style="StandartMLP", in_features=dim, out_features=dim)  # [unknown-module-style]
    """
    good = """
    from torch import nn

    _MLP_REGISTRY = {"StandardMLP": nn.Linear}


    class OneMlp(nn.Module):
        def __init__(self, style, **kwargs):
            super().__init__()
            if style not in _MLP_REGISTRY:
                raise NotImplementedError(style)
            self.mlp = _MLP_REGISTRY[style](**kwargs)


    class Block(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.mlp = OneMlp(style="StandardMLP", in_features=dim, out_features=dim)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        groups: dict[tuple[object, str], tuple[Site, list[UnknownKey]]] = {}
        for seen in analysis.log.events:
            if type(seen) is UnknownKey:
                site = _asked_at(seen)
                groups.setdefault((site.key, seen.key_name), (site, []))[1].append(seen)
        for site, events in groups.values():
            certain = first_certain(events)
            event = certain or events[0]
            if is_extended(analysis.project, event.registry):
                continue
            yield self.finding(
                site_place(site),
                object=written_in(site),
                evidence=(at(event.site, tr("looked up in `%(registry)s` here", registry=event.registry)),),
                decided=certain is not None,
                call=callee_text(site) if site is not event.site else f"{event.registry}[…]",
                fix=_respell(site, event),
                style=event.key_name,
                registry=event.registry,
                hint=_hint(event),
            )


def _asked_at(event: UnknownKey) -> Site:
    """The innermost call on the way that writes the style out; the lookup itself where none does."""
    for site in sites(event):
        given = (
            [*site.node.args, *(k.value for k in site.node.keywords)]
            if isinstance(site.node, ast.Call)
            else []
        )
        if any(
            isinstance(value, ast.Constant | ast.JoinedStr) and _spells(value, event.key_name)
            for value in given
        ):
            return site
    outer = [site for site in sites(event) if isinstance(site.node, ast.Call) and _passes_style(site.node)]
    return outer[-1] if outer else event.site


def _spells(value: ast.Constant | ast.JoinedStr, style: str) -> bool:
    return value.value == style if isinstance(value, ast.Constant) else True


def _passes_style(call: ast.Call) -> bool:
    return any(keyword.arg == "style" for keyword in call.keywords)


def _respell(site: Site, event: UnknownKey) -> Fix | None:
    """The style that is nearest to what was written, where one is near and the call writes the style out."""
    near = difflib.get_close_matches(event.key_name, event.choices, 1, 0.75)
    given = (
        [*site.node.args, *(k.value for k in site.node.keywords)] if isinstance(site.node, ast.Call) else []
    )
    written = next(
        (value for value in given if isinstance(value, ast.Constant) and value.value == event.key_name), None
    )
    return unsafe(replace(site.module, written, f'"{near[0]}"')) if near and written is not None else None


def _hint(event: UnknownKey) -> str:
    near = difflib.get_close_matches(event.key_name, event.choices, 1, 0.75)
    known = ", ".join(sorted(event.choices)[:12]) + (", …" if len(event.choices) > 12 else "")
    return (
        tr('Write `style="%(near)s"`.', near=near[0])
        if near
        else tr(
            "Register it in `%(registry)s`, or choose one of: %(known)s.",
            registry=event.registry,
            known=known,
        )
    )
