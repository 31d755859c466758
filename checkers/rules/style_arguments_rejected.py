"""E7307"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding, Fix, joined
from ..language import tr
from ..project.spelling import of_same_meaning
from ..project.stage_calls import stage_calls
from ..project.stage_classes import parameters as defaults
from ..project.training import Training, TrainingScript
from ..rule import Rule, Symptom
from ..tpstate.callers import (
    by_written_call,
    callee_text,
    inner_steps,
    names_class,
    parameters,
    signature_is_known,
    through_super,
    written_at,
    written_in,
)
from ..tpstate.events import Built, Rejected, Site
from ..tpstate.fixes import remove_keyword, rename_keyword, unsafe
from ..tpstate.stage_models import BLOCK_COUNTS, HEAD_COUNTS
from ..tpstate.values import Sym
from ..tpstate.verdicts import place_of, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


_COUNTS = (*HEAD_COUNTS, *BLOCK_COUNTS[:-1])


class StyleArgumentsRejected(Rule):
    """A class chosen by a style is given an argument it does not take, or not given one it needs."""

    code, symbol = "E7307", "style-arguments-rejected"
    message = "`%(call)s` builds `%(cls)s`, and %(problem)s"
    advice = "%(hint)s"
    why = (
        "A registry wrapper hands its keywords on unseen. No type checker follows them to the class that the style "
        "names, so a keyword left over from another style fails only when the model is built."
    )
    symptom = Symptom.CRASH
    runtime = "TypeError: __init__() got an unexpected keyword argument, when the stage is built"
    limits = (
        "Classes built by their own name are left to type checkers, but for the stages of a training script. "
        "Silent where the keywords come from outside of "
        "the code seen, where the constructor is decorated or the class has its own `__new__`, and where the helper "
        "filters keywords by signature, or where it depends on more than one open condition."
    )
    guide = "2.3: passing arguments from stage to layer"
    maturity = "stable"
    fix_kind = "unsafe"
    fix_note = "The argument may belong to another style, or the style be the wrong one."

    bad = """
    from torch import nn


    class PlainFuser(nn.Module):
        def __init__(self, dim, depth):
            super().__init__()
            self.blocks = nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))


    _FUSER_REGISTRY = {"PlainFuser": PlainFuser}


    class OneFuser(nn.Module):
        def __init__(self, style, **kwargs):
            super().__init__()
            self.fuser = _FUSER_REGISTRY[style](**kwargs)


    class Model_stage0(nn.Module):
        def __init__(self, dim, config=None):
            super().__init__()
            self.fuser = OneFuser(style="PlainFuser", dim=dim, depth=2, config=config)  # [style-arguments-rejected]
    """
    good = """
    from torch import nn


    class PlainFuser(nn.Module):
        def __init__(self, dim, depth):
            super().__init__()
            self.blocks = nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))


    _FUSER_REGISTRY = {"PlainFuser": PlainFuser}


    class OneFuser(nn.Module):
        def __init__(self, style, **kwargs):
            super().__init__()
            self.fuser = _FUSER_REGISTRY[style](**kwargs)


    class Model_stage0(nn.Module):
        def __init__(self, dim, config=None):
            super().__init__()
            self.fuser = OneFuser(style="PlainFuser", dim=dim, depth=2)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        alike: dict[tuple[str, str, str], list[Finding]] = {}
        for finding in self._each(analysis):
            alike.setdefault((finding.place.path, finding.object, finding.message), []).append(finding)
        for script in analysis.project.knowledge(Training):
            yield from self._stages(script)
        yield from self._whole_lists(analysis)
        for found in alike.values():  # one style chosen wrongly, one parameter renamed: one cause
            yield joined(sorted(found, key=lambda finding: finding.place), tr("and here, too"))

    def _whole_lists(self, analysis: Analysis) -> Iterator[Finding]:
        """A stage's sequence of counts, one for each layer, given where one count is taken."""
        seen: set[object] = set()
        for event in analysis.log.events:
            if type(event) is not Built or event.obj.args.keys().isdisjoint(_COUNTS):
                continue
            site = written_at(event, "")
            facts, root = event.obj.cls.facts, event.root
            found = analysis.project.method(facts, "__init__") if facts is not None else None
            mine = root.methods.get("__init__") if root is not None else None
            if found is None or mine is None or site.key in seen or not event.certain:
                continue
            for name, default in defaults(found[1]).items():
                given = event.obj.args.get(name)
                whole = defaults(mine).get(given.text) if isinstance(given, Sym) else None
                one = isinstance(default, ast.Constant) and type(default.value) is int
                if (
                    name in _COUNTS
                    and one
                    and isinstance(whole, ast.Tuple | ast.List)
                    and isinstance(given, Sym)
                ):
                    yield self.finding(
                        site_place(site),
                        object=written_in(site),
                        call=callee_text(site),
                        cls=found[0].name,
                        problem=tr(
                            "`%(name)s` is given all of `%(given)s`, %(whole)s, for one number",
                            name=name,
                            given=given.text,
                            whole=ast.unparse(whole),
                        ),
                        hint=tr(
                            "Pass the count of this layer: `%(name)s=%(given)s[0]` for the first one.",
                            name=name,
                            given=given.text,
                        ),
                    )
                    break

    def _stages(self, script: TrainingScript) -> Iterator[Finding]:
        """Calls of a training script that give a parameter of a stage twice, or lack one that it requires."""
        seen: set[object] = set()
        for call, _, stage in stage_calls(script):
            init = stage.cls.methods.get("__init__")
            if init is None or init.args.vararg is not None or init.decorator_list or id(call) in seen:
                continue
            if any(keyword.arg is None for keyword in call.keywords) or any(
                isinstance(argument, ast.Starred) for argument in call.args
            ):
                continue
            positional = [arg.arg for arg in (*init.args.posonlyargs, *init.args.args)][1:]
            named = {keyword.arg for keyword in call.keywords}
            twice = [name for name in positional[: len(call.args)] if name in named]
            lacks = [
                name
                for name, default in defaults(init).items()
                if default is None and name not in named | set(positional[: len(call.args)]) | {"self"}
            ]
            if twice or lacks:
                seen.add(id(call))
                yield self.finding(
                    place_of(script.module, call),
                    object=stage.cls.name,
                    call=ast.unparse(call.func),
                    cls=stage.cls.name,
                    problem=tr("it is given `%(twice)s` twice", twice=twice[0])
                    if twice
                    else tr("`%(lacks)s` is missing", lacks=lacks[0]),
                    hint=tr(
                        "Give each argument by its name, once: %(positional)s.",
                        positional=", ".join(positional),
                    ),
                )

    def _each(self, analysis: Analysis) -> Iterator[Finding]:
        for site, event, certain in by_written_call(analysis.log.events, Rejected):
            cls = event.holder
            if (
                not certain
                or event.what != "constructor"
                or cls is None
                or through_super(event.site)
                or names_class(event.site, cls)
                or (event.branch and _is_own_class(event.site))
            ):
                continue
            if not signature_is_known(analysis.project, cls, "__init__"):
                continue
            hint, fix = _repair(event, site)
            yield self.finding(
                site_place(site),
                fix=fix,
                object=written_in(site),
                evidence=inner_steps(
                    event,
                    site,
                    tr("`%(cls)s.__init__` is called here: %(problem)s", cls=cls.name, problem=event.problem),
                ),
                call=callee_text(site),
                cls=cls.name,
                problem=event.problem,
                hint=hint,
            )


def _is_own_class(site: Site) -> bool:
    """`cls(…)` in a method that makes an object: what it asks before may keep other classes out."""
    func = site.node.func if isinstance(site.node, ast.Call) else None
    return isinstance(func, ast.Name) and func.id == "cls"


def _repair(event: Rejected, site: Site) -> tuple[str, Fix | None]:
    """What to type, in words and as edits: the parameter that means the same, else the argument taken out."""
    assert event.holder is not None
    name, method = event.parameter, event.holder.methods["__init__"]
    takes = tr(
        "`%(holder)s` takes: %(parameters)s.",
        holder=event.holder.name,
        parameters=", ".join(parameters(method)),
    )
    if "missing" in event.problem:
        return tr("Pass `%(name)s=…`. %(takes)s", name=name, takes=takes), None
    call = site.node
    if not name or not isinstance(call, ast.Call):
        return takes, None
    given = {keyword.arg for keyword in call.keywords}
    free = [other for other in parameters(method) if other not in given]
    needed = [other for other, default in defaults(method).items() if default is None and other in free]
    right = of_same_meaning(name, free) or (needed[0] if len(needed) == 1 and name != "config" else None)
    if right is not None:
        hint = tr(
            "Write `%(right)s=` in place of `%(name)s=`: `%(holder)s` names it so.",
            right=right,
            name=name,
            holder=event.holder.name,
        )
        return f"{hint} {takes}", unsafe(rename_keyword(site.module, call, name, right))
    hint = tr("Take `%(name)s` out, or choose a style that takes it. %(takes)s", name=name, takes=takes)
    return hint, unsafe(remove_keyword(site.module, call, name))
