"""From an event inside a registry's helper to the call that the user wrote, by the event's stack."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TypeVar

from ..facts.module import ClassFacts
from ..finding import Evidence, Place
from ..language import tr
from ..project.project import External, Project, dotted_name
from .events import Event, Site
from .verdicts import at, first_certain, site_place

E = TypeVar("E", bound=Event)

# Decorators that leave a signature as it is written.
_NEUTRAL = frozenset(
    "no_grad enable_grad inference_mode ignore export compile override abstractmethod staticmethod classmethod".split()
)


def sites(event: Event) -> list[Site]:
    """Where it happened and every call that leads there, innermost first."""
    return [event.site, *reversed(event.stack)]


def written_at(event: Event, parameter: str) -> Site:
    """The call that gives (or leaves out) an argument: calls that only hand on `*args` or `**kwargs` are passed by."""
    found = event.site
    for found in sites(event):
        if not isinstance(found.node, ast.Call) or not _hands_on(found, found.node, parameter):
            break
    return found


def _hands_on(site: Site, call: ast.Call, parameter: str) -> bool:
    """Whether a call spreads its own function's open arguments and does not name `parameter` itself."""
    spec = getattr(site.function, "args", None)
    if spec is None or any(keyword.arg == parameter for keyword in call.keywords if parameter):
        return False
    open_names = {arg.arg for arg in (spec.vararg, spec.kwarg) if arg is not None}
    spread = [keyword.value for keyword in call.keywords if keyword.arg is None]
    spread += [arg.value for arg in call.args if isinstance(arg, ast.Starred)]
    return any(isinstance(value, ast.Name) and value.id in open_names for value in spread)


def by_written_call(events: Iterable[Event], kind: type[E]) -> Iterator[tuple[Site, E, bool]]:
    """Events of one kind by the call the user wrote and the parameter: the site, one event, whether it is certain."""
    groups: dict[tuple[object, ...], tuple[Site, list[E]]] = {}
    for event in events:
        if type(event) is kind:
            parameter = getattr(event, "parameter", "")
            site = written_at(event, parameter)
            groups.setdefault((site.key, parameter), (site, []))[1].append(event)
    for site, found in groups.values():
        # Which class a flag picks, and which code runs under it, may hang together in ways that cannot be seen.
        sure = first_certain([event for event in found if not event.choice])
        yield site, sure if sure is not None else found[0], sure is not None


def signature_is_known(project: Project, cls: ClassFacts, method: str) -> bool:
    """Whether calling an object (or the class, for `__init__`) binds exactly what `method` of `cls` declares.

    A decorator, a `__call__` or `__new__` of its own, a base that cannot be seen before it, or an assignment to the
    method may change that.
    """
    order = project.mro(cls)
    if method not in cls.methods or cls.node.decorator_list or cls.node.keywords:
        return False
    for entry in order:
        if isinstance(entry, ClassFacts) and ("__call__" in entry.methods or _makes_another(entry, method)):
            return False
    if method == "forward" and not any(isinstance(entry, External) for entry in order):
        return False  # a mixin: what calls `forward`, and with what, is the matter of another class
    own = f"self.{method} ="
    if any(own in other.text and cls in project.mro(other) for other in project.classes()):
        return False  # an object of it, or of a subclass, has a method of its own
    if f"{cls.name}.{method} =" in cls.module.text or f"setattr({cls.name}" in cls.module.text:
        return False
    return all(_is_neutral(decorator) for decorator in cls.methods[method].decorator_list)


def _makes_another(cls: ClassFacts, method: str) -> bool:
    """Whether a `__new__` may bind other arguments, or return an instance of something else."""
    made = cls.methods.get("__new__")
    if made is None or method == "__init__":
        return made is not None
    return re.search(r"(super\(\)|object|Module)\.__new__\(", cls.module.text_of(made)) is None


def _is_neutral(decorator: ast.expr) -> bool:
    name = dotted_name(decorator.func if isinstance(decorator, ast.Call) else decorator) or ""
    return name.rsplit(".", 1)[-1] in _NEUTRAL


def through_super(site: Site) -> bool:
    """Whether a call goes through `super()`, whose next class depends on what is built in the end."""
    return isinstance(site.node, ast.Call) and "super(" in ast.unparse(site.node.func)


def names_class(site: Site, cls: ClassFacts) -> bool:
    """Whether a call writes the class it builds by its own name: `Block(dim)`, `blocks.Block(dim)`."""
    name = dotted_name(site.node.func) if isinstance(site.node, ast.Call) else None
    return name is not None and name.rsplit(".", 1)[-1] == cls.name


def callee_text(site: Site) -> str:
    """What a call is written on: `OneFuser(style="X")` where it has a style, else its function."""
    if not isinstance(site.node, ast.Call):
        return ast.unparse(site.node)
    name = ast.unparse(site.node.func)
    style = next((keyword.value for keyword in site.node.keywords if keyword.arg == "style"), None)
    if style is None and site.node.args and isinstance(site.node.args[0], ast.Constant):
        style = site.node.args[0]
    if isinstance(style, ast.Constant) and isinstance(style.value, str):
        return f'{name}(style="{style.value}")'
    return f"{name}(…)"


def owner_of(site: Site) -> ClassFacts | None:
    """The class whose method holds a site."""
    for cls in site.module.classes.values():
        if site.function is not None and any(method is site.function for method in cls.methods.values()):
            return cls
    return None


def written_in(site: Site) -> str:
    """The class (or module) whose code holds a site, for the `object` of a finding reported there."""
    line = site.node.lineno
    for cls in site.module.classes.values():
        if cls.node.lineno <= line <= (cls.node.end_lineno or line):
            return cls.name
    return site.module.name


def inner_steps(event: Event, outer: Site, text: str) -> tuple[Evidence, ...]:
    """The calls from `outer` down to the event, outermost first; `text` says what happened at the end."""
    chain: list[Site] = []
    for site in sites(event):
        if site.key == outer.key:
            break
        chain.append(site)
    steps = [
        at(site, tr("reached through `%(site)s`", site=callee_text(site))) for site in reversed(chain[1:])
    ]
    return (*steps[-6:], *([at(chain[0], text)] if chain else []))


def head(site_or_node: Site, node: ast.stmt) -> Place:
    """The first line of a statement: where a class or function is declared."""
    whole = site_place(Site(site_or_node.module, node))
    line = site_or_node.module.lines[node.lineno - 1]
    end = len(line.rstrip())
    return Place(whole.path, whole.line, whole.column, whole.line, max(end, whole.column + 1))


def parameters(method: ast.FunctionDef) -> list[str]:
    """The names a method takes, `self` left out."""
    spec = method.args
    return [arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)][1:]
