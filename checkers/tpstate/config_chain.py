"""Where the Megatron config is lost on its way from a stage to a parallel layer."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from ..project.project import Project
from ..project.stage_classes import parameters as stage_parameters
from . import provider_table
from .callers import owner_of, sites
from .events import Built, Event, Site
from .provider_table import Provider
from .values import Const


def provider_of(event: Built) -> Provider | None:
    """The contract of a built parallel layer; None for other modules."""
    return event.contract if isinstance(event.contract, Provider) else None


def is_unknown_copy(project: Project, event: Built) -> bool:
    """Whether the layer is of a copy of Megatron, in another package and not in the tree: its version is not known."""
    row, facts = provider_of(event), event.obj.cls.facts
    if row is None or row.source is not None:
        return False
    made = project.mro(facts) if facts is not None else (event.obj.cls,)
    return any(".megatron." in entry.dotted for entry in made if not isinstance(entry, ClassFacts))


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
    if _refuses_to_be_built(event):
        return True
    row = provider_of(event)
    if row is None or row.family != provider_table.MEGATRON or "config" not in row.required:
        return False
    given = event.obj.args.get("config")
    return (isinstance(given, Const) and given.value is None) or (given is None and not event.open_keywords)


def _refuses_to_be_built(event: Built) -> bool:
    """Whether the constructor raises where there is no config, and is given none."""
    facts = event.obj.cls.facts
    init = facts.methods.get("__init__") if facts is not None else None
    if init is None or not event.stack or "config" not in stage_parameters(init):
        return False
    return gives(event, "config") is False and any(_raises_without(part) for part in init.body)


def _raises_without(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Assert):
        return ast.unparse(statement.test) == "config is not None"
    return (
        isinstance(statement, ast.If)
        and ast.unparse(statement.test) in ("config is None", "not config")
        and any(isinstance(part, ast.Raise) for part in statement.body)
    )


def gives(event: Built, name: str) -> bool | None:
    """Whether a module was built with a parameter of its constructor; None where that cannot be told."""
    facts = event.obj.cls.facts
    init = facts.methods.get("__init__") if facts is not None else None
    if init is None or event.open_keywords or "*" in event.keywords:
        return None
    value = event.keywords.get(name)
    if value is not None:
        return not (isinstance(value, Const) and value.value is None)
    names = [arg.arg for arg in (*init.args.posonlyargs, *init.args.args)][1:]
    return name in names[: event.positional]


def _loses_it(event: Built) -> Site | None:
    """The first call, from the layer outwards, that does not hand a config on."""
    for site in sites(event):
        if not isinstance(site.node, ast.Call):
            return None
        if not hands_config(site.node, site.function):
            return site
    return None


def hands_config(call: ast.Call, function: ast.AST | None = None) -> bool:
    """Whether a call in `function` gives a config, by name, by position or in an unpacked dict."""
    for keyword in call.keywords:
        if keyword.arg is None:
            names = _keys(keyword.value, function)
            if names is None or any("config" in name for name in names):
                return True
        elif "config" in keyword.arg:
            return not (isinstance(keyword.value, ast.Constant) and keyword.value.value is None)
    return any("config" in ast.unparse(arg) or isinstance(arg, ast.Starred) for arg in call.args)


def _keys(unpacked: ast.expr, function: ast.AST | None) -> list[str] | None:
    """The keys of a dict that is written out, in the call or under a name that nothing else touches, else None."""
    if isinstance(unpacked, ast.Name) and function is not None:
        uses = [node for node in walk(function) if isinstance(node, ast.Name) and node.id == unpacked.id]
        made = [
            node.value
            for node in walk(function)
            if isinstance(node, ast.Assign)
            and [ast.unparse(target) for target in node.targets] == [unpacked.id]
        ]
        handed = [
            keyword.value
            for node in walk(function)
            if isinstance(node, ast.Call)
            for keyword in node.keywords
            if keyword.arg is None and isinstance(keyword.value, ast.Name) and keyword.value.id == unpacked.id
        ]
        return _keys(made[0], None) if len(made) == 1 and len(uses) == 1 + len(handed) else None
    if isinstance(unpacked, ast.Dict):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in unpacked.keys]
        return None if None in keys else [str(key) for key in keys]
    if isinstance(unpacked, ast.Call) and ast.unparse(unpacked.func) == "dict" and not unpacked.args:
        named = [keyword.arg for keyword in unpacked.keywords]
        return None if None in named else [str(name) for name in named]
    return None


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
