"""E7307"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..rule import Rule, Symptom
from ..tpstate.callers import (
    by_written_call,
    callee_text,
    inner_steps,
    names_class,
    parameters,
    signature_is_known,
    through_super,
    written_in,
)
from ..tpstate.events import Rejected
from ..tpstate.verdicts import site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


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
        "Classes built by their own name are left to type checkers. Silent where the keywords come from outside of "
        "the code seen, where the constructor is decorated or the class has its own `__new__`, and where the helper "
        "filters keywords by signature, or where it depends on more than one open condition."
    )
    guide = "2.3: passing arguments from stage to layer"
    maturity = "stable"

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
        for site, event, certain in by_written_call(analysis.log.events, Rejected):
            cls = event.holder
            if (
                not certain
                or event.what != "constructor"
                or cls is None
                or through_super(event.site)
                or names_class(event.site, cls)
            ):
                continue
            if not signature_is_known(analysis.project, cls, "__init__"):
                continue
            yield self.finding(
                site_place(site),
                object=written_in(site),
                evidence=inner_steps(event, site, f"`{cls.name}.__init__` is called here: {event.problem}"),
                call=callee_text(site),
                cls=cls.name,
                problem=event.problem,
                hint=_hint(event),
            )


def _hint(event: Rejected) -> str:
    assert event.holder is not None
    known = parameters(event.holder.methods["__init__"])
    takes = f"`{event.holder.name}` takes: {', '.join(known)}."
    if "missing" in event.problem:
        return f"Pass `{event.parameter}=…`. {takes}"
    near = difflib.get_close_matches(event.parameter, known, 1)
    if near:
        return f"Did you mean `{near[0]}`? {takes}"
    return (
        f"Take `{event.parameter}` out, or choose a style that takes it. {takes}"
        if event.parameter
        else takes
    )
