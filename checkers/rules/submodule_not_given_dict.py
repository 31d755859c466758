"""E7303"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import as_code, walk
from ..finding import Evidence, Finding
from ..language import tr
from ..project.dict_interface import DictForward, as_dict_forward, dict_forward_of, dict_forwards
from ..project.distributed import is_named_distributed, original_of
from ..project.project import Project
from ..rule import Rule, Symptom
from ..tpstate.callers import by_written_call, callee_text, owner_of, through_super, written_at, written_in
from ..tpstate.events import Event, Rejected, Site, TensorKeyed
from ..tpstate.fixes import either, replace
from ..tpstate.verdicts import place_of, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class SubmoduleNotGivenDict(Rule):
    """A block that expects the dict is called with a tensor, or with the tensor and the mask apart."""

    code, symbol = "E7303", "submodule-not-given-dict"
    message = "`%(call)s` runs `%(cls)s.forward`, which reads a dict, and is given %(given)s"
    advice = "Pass the dict: `%(typed)s`."
    why = "All blocks below a fuser share one interface, so that a mask can be added or left out without touching them."
    symptom = Symptom.CRASH
    runtime = "IndexError: only integers, slices … are valid indices (got str), or a TypeError of forward()"
    limits = "Silent where the block or what it is given cannot be told, and where its forward takes tensors as well."
    guide = "Principle 12: one forward interface for fusers"
    fix_kind = "safe"
    fix_note = (
        "The block fails as it is. Where a mask is at hand and was not given, a reader has to say whether "
        "it belongs there."
    )

    bad = """
    import torch
    from torch import nn


    class Block(nn.Module):
        def forward(self, obj):
            return obj["x"] * 2


    _BLOCK_REGISTRY = {"Block": Block}


    class IceFuser(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = _BLOCK_REGISTRY["Block"]()

        def forward(self, obj):
            return self.block(obj["x"], obj.get("mask"))  # [submodule-not-given-dict]
    """
    good = """
    import torch
    from torch import nn


    class Block(nn.Module):
        def forward(self, obj):
            return obj["x"] * 2


    _BLOCK_REGISTRY = {"Block": Block}


    class IceFuser(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = _BLOCK_REGISTRY["Block"]()

        def forward(self, obj):
            return self.block(obj)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project, seen = analysis.project, set()
        for site, event, certain in by_written_call(analysis.log.events, Rejected):
            holder = event.holder
            if event.what != "forward" or holder is None or through_super(event.site) or not certain:
                continue
            if dict_forward_of(project, holder) is not None and "positional" in event.problem:
                seen.add(site.key)
                yield self._finding(site, holder, tr("the tensor and the mask apart"))
        for given in dict_forwards(project):
            yield from self._without_mask(project, given)
        for keyed in analysis.log.events:
            if type(keyed) is not TensorKeyed or not keyed.certain or not keyed.stack:
                continue
            cls = owner_of(keyed.site)
            forward = dict_forward_of(project, cls) if cls is not None else None
            if cls is None or forward is None or keyed.site.function is not forward.method:
                continue
            site = _call_of(keyed)
            if site.key not in seen:
                seen.add(site.key)
                yield self._finding(site, cls, tr("a tensor"))

    def _without_mask(self, project: Project, forward: DictForward) -> Iterator[Finding]:
        """A dict without the mask for a block that the original hands its mask on to."""
        original = original_of(project, forward.cls) if is_named_distributed(forward.cls) else None
        theirs = as_dict_forward(original) if original is not None else None
        if original is None or theirs is None or not (forward.mentions("mask") and theirs.mentions("mask")):
            return
        handed = {as_code(call.func): call for call in map(_one_argument, theirs.nodes) if call is not None}
        for node in forward.nodes:
            call = _one_argument(node)
            other = handed.get(as_code(call.func)) if call is not None else None
            if (
                call is None
                or other is None
                or _keys(call.args[0]) is None
                or "mask" in (_keys(call.args[0]) or ())
            ):
                continue
            if theirs.is_obj(other.args[0]) or "mask" in (_keys(other.args[0]) or ()):
                yield self.finding(
                    place_of(forward.cls.module, call),
                    object=forward.cls.name,
                    evidence=(
                        Evidence(original.module.display, other.lineno, tr("the original hands it on here")),
                    ),
                    message="`%(call)s(…)` is given a dict without the mask that the original `%(original)s` hands on",
                    advice='Give it the mask too: `%(call)s({"x": x, "mask": mask})`.',
                    call=as_code(call.func),
                    original=original.name,
                )

    def _finding(self, site: Site, cls: ClassFacts, given: str) -> Finding:
        line = cls.methods["forward"].lineno
        typed = _as_dict(site)
        return self.finding(
            site_place(site),
            object=written_in(site),
            evidence=(
                Evidence(cls.module.display, line, tr("`%(cls)s.forward` is declared here", cls=cls.name)),
            ),
            fix=either(_is_told(site), replace(site.module, site.node, typed)) if typed else None,
            typed=typed or 'block({"x": x, "mask": mask})',
            call=callee_text(site),
            cls=cls.name,
            given=given,
        )


def _one_argument(node: ast.AST) -> ast.Call | None:
    return node if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords else None


def _keys(node: ast.expr) -> set[str] | None:
    """The keys of a dict that is written down and holds `x`."""
    if not isinstance(node, ast.Dict) or not all(isinstance(key, ast.Constant) for key in node.keys):
        return None
    keys = {str(key.value) for key in node.keys if isinstance(key, ast.Constant)}
    return keys if "x" in keys else None


def _call_of(keyed: TensorKeyed) -> Site:
    """The call that entered the forward, as the user wrote it."""
    entered = Event(keyed.stack[-1], keyed.owner, keyed.branch, keyed.choice, keyed.stack[:-1], keyed.root)
    return written_at(entered, "")


def _is_told(site: Site) -> bool:
    """Whether it is clear which mask belongs to the block: one is given, there is none, or it is known to be None."""
    call = site.node
    if not isinstance(call, ast.Call) or len(call.args) == 2 or site.function is None:
        return True
    around = list(walk(site.function))
    if any(isinstance(node, ast.IfExp) and node.body is call and _is_none(node.test) for node in around):
        return True
    names = {node.id for node in around if isinstance(node, ast.Name)} | {
        a.arg for a in around if isinstance(a, ast.arg)
    }
    return not any("mask" in name for name in names)


def _is_none(test: ast.expr) -> bool:
    return ast.unparse(test) == "mask is None"


def _as_dict(site: Site) -> str:
    """The call with its tensor, and its mask where it has one, in the dict; nothing where more is given."""
    call = site.node
    if not isinstance(call, ast.Call) or call.keywords or not 1 <= len(call.args) <= 2:
        return ""
    if any(isinstance(value, ast.Starred) for value in call.args):
        return ""
    inside = [node for node in walk(site.function) if isinstance(node, ast.Name)] if site.function else []
    has_mask = any(isinstance(node.ctx, ast.Store) and node.id == "mask" for node in inside)
    given = (*map(ast.unparse, call.args), "mask" if has_mask else "None")[:2]
    return f'{ast.unparse(call.func)}({{"x": {given[0]}, "mask": {given[1]}}})'
