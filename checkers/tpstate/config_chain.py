"""Where the Megatron config is lost on its way from a stage to a parallel layer."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from . import provider_table
from .callers import owner_of, sites
from .events import Built, Event, Site
from .provider_table import Provider
from .values import Const


def provider_of(event: Built) -> Provider | None:
    """The contract of a built parallel layer; None for other modules."""
    return event.contract if isinstance(event.contract, Provider) else None


def dropped_configs(events: Iterable[Event]) -> Iterator[tuple[Site, Built]]:
    """Parallel layers that need a config and get none: the call that loses it and the layer, once for each call."""
    seen = set()
    for event in events:
        if type(event) is Built and event.certain and _lacks_config(event):
            site = _loses_it(event)
            if site is not None and site.key not in seen:
                seen.add(site.key)
                yield site, event


def _lacks_config(event: Built) -> bool:
    row = provider_of(event)
    if row is None or row.family != provider_table.MEGATRON or "config" not in row.required:
        return False
    given = event.obj.args.get("config")
    return (isinstance(given, Const) and given.value is None) or (given is None and not event.open_keywords)


def _loses_it(event: Built) -> Site | None:
    """The first call, from the layer outwards, that does not hand a config on."""
    for site in sites(event):
        if not isinstance(site.node, ast.Call):
            return None
        if not hands_config(site.node):
            return site
    return None


def hands_config(call: ast.Call) -> bool:
    for keyword in call.keywords:
        if keyword.arg is None:
            return True
        if "config" in keyword.arg:
            return not (isinstance(keyword.value, ast.Constant) and keyword.value.value is None)
    return any("config" in ast.unparse(arg) or isinstance(arg, ast.Starred) for arg in call.args)


def has_config(site: Site) -> str | None:
    """The name under which the code around a call has the config: a parameter, or an attribute of its object."""
    spec = getattr(site.function, "args", None)
    names = [arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)] if spec is not None else []
    for name in ("config", "megatron_config", *names):
        if name in names and name.endswith("config"):
            return f"config={name}"
    owner = owner_of(site)
    if owner is None:
        return None if names else "config=…"
    stored = [
        node
        for method in owner.methods.values()
        for node in ast.walk(method)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr == "config"
    ]
    return "config=self.config" if stored else None
