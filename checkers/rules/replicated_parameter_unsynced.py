"""W7603"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import as_code, walk
from ..finding import Finding
from ..language import tr
from ..project.project import External, Project, dotted_name
from ..project.stage_classes import parameters
from ..rule import Rule, Symptom
from ..spmd.frames import functions
from ..tpstate.events import Site
from ..tpstate.fixes import lines_after, unsafe
from ..tpstate.layers import label
from ..tpstate.token_events import TokensRaw, TokensUnmarked
from ..tpstate.values import Obj
from ..tpstate.verdicts import at, by_site, evidence, owner_name, place_of, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_PARALLEL = re.compile(r"(Column|Row)\w*(Parallel)?Linear\(")
_SETS = re.compile(r"setattr\([^)\n]*[\"']sequence_parallel|\.sequence_parallel\s*=\s*(?!=)")
_DIRECT = re.compile(
    r"\b(self|args|config|cfg)(\.\w+)*\.sequence_parallel\s*=\s*(?!=)|setattr\(\s*self[.\w]*\.\w+,\s*[\"']sequence_parallel"
)
"""A mark on one attribute, or a flag of the configuration: no function that marks what it is given."""
_FLAG = re.compile(r"sequence_parallel|seq_parallel|(^|\.)(enabled?|sp)$")
_WEIGHTED = frozenset("LayerNorm RMSNorm Parameter".split())
_SHARDED = re.compile(r"//|divide\(|per_partition|per_rank|tp_size")


class ReplicatedParameterUnsynced(Rule):
    """A replicated parameter inside a sequence-parallel region is not marked `sequence_parallel`."""

    code, symbol = "W7603", "replicated-parameter-unsynced"
    message = (
        "`%(name)s` sees other tokens on each tensor-parallel rank, and is not marked `sequence_parallel`"
    )
    advice = "Mark all of its parameters: `%(typed)s`."
    why = (
        "With sequence parallelism the ranks normalise different tokens. Only gradients of parameters with this mark "
        "are summed over the tensor-parallel group; without it the copies drift apart."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "Convergence is very poor: the loss flattens, because the gradients differ between ranks."
    limits = (
        "Where the tokens are followed from Megatron's sequence-region functions into a layer of torch or a module "
        "that takes `sequence_parallel`. Elsewhere only with `sequence_parallel = true` in the settings, and in "
        "classes that feed a parallel linear themselves. Silent where the mark is set for this parameter, or for "
        "all in a loop."
    )
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "Gradients change: they are summed over the tensor-parallel ranks from here on."

    bad = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Enter(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.norm = nn.LayerNorm(dim)  # [replicated-parameter-unsynced]
            self.fc = ColumnParallelLinear(dim, 4 * dim, config=config, init_method=config.init_method)

        def forward(self, x):
            return self.fc(self.norm(x))[0]
    """
    good = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Enter(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.norm = nn.LayerNorm(dim)
            for parameter in self.norm.parameters():
                setattr(parameter, "sequence_parallel", config.sequence_parallel)
            self.fc = ColumnParallelLinear(dim, 4 * dim, config=config, init_method=config.init_method)

        def forward(self, x):
            return self.fc(self.norm(x))[0]
    """
    beside = {"setup.cfg": "[onescience-check]\nprofile = guide\nsequence_parallel = true\n"}

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        yield from self._followed(analysis)
        yield from self._turned_round(project)
        yield from self._raw(analysis)
        for cls in project.classes() if project.settings.sequence_parallel else ():
            text = cls.text
            if (
                _PARALLEL.search(text)
                and project.is_module_class(cls)
                and not project.is_framework(cls.module)
            ):
                yield from self._check_class(project, cls, text)

    def _followed(self, analysis: Analysis) -> Iterator[Finding]:
        """Modules that are seen to get one rank's tokens, at the place that builds them."""
        seen: set[tuple[str, int, int]] = set()
        for event in analysis.log.events:
            if not isinstance(event, TokensUnmarked) or event.on_one_rank:
                continue
            site: Site = event.module.made_at
            facts = event.module.cls.facts
            own = facts is not None and "sequence_parallel" in facts.text
            if site.key in seen or not (own or _nothing_marks(analysis.project, event.module, site)):
                continue
            seen.add(site.key)
            yield self.finding(
                place_of(site.module, site.node),
                object=owner_name(event),
                evidence=(
                    *evidence(event.tokens.why),
                    at(event.site, tr("it is given one rank's tokens here")),
                ),
                name=label(event.module),
                typed="sequence_parallel=config.sequence_parallel"
                if own
                else 'setattr(parameter, "sequence_parallel", config.sequence_parallel)',
            )

    def _turned_round(self, project: Project) -> Iterator[Finding]:
        """`setattr(p, "sequence_parallel", not enabled)`"""
        for frame in functions(project, _SETS):
            for call in frame.scope.calls:
                value = call.args[2] if as_code(call.func) == "setattr" and len(call.args) == 3 else None
                if not isinstance(value, ast.UnaryOp) or not isinstance(value.op, ast.Not):
                    continue
                if as_code(call.args[1]) == "'sequence_parallel'" and _FLAG.search(as_code(value.operand)):
                    yield self.finding(
                        place_of(frame.module, call),
                        object=frame.function_name,
                        message="`%(call)s` marks where sequence parallelism is off, and not where it is on",
                        advice="Write `%(typed)s`.",
                        call=as_code(call),
                        typed=as_code(call).replace(as_code(value), as_code(value.operand)),
                    )

    def _raw(self, analysis: Analysis) -> Iterator[Finding]:
        """Raw weights that one rank's tokens are multiplied with."""
        for events in by_site(analysis.log.events, TokensRaw):
            event = next((event for event in events if not event.on_one_rank), None)
            call = event.site.node if event is not None else None
            named = (
                re.search(r"self\.\w+", ast.unparse(call.args[1]))
                if isinstance(call, ast.Call) and len(call.args) > 1
                else None
            )
            if event is None or event.owner is None or named is None or not isinstance(call, ast.Call):
                continue
            if not _is_marked(named[0], call, event.owner.text):
                yield self.finding(
                    site_place(event.site),
                    object=event.owner.name,
                    evidence=evidence(event.tokens.why),
                    name=named[0],
                    typed=f'setattr({named[0]}, "sequence_parallel", config.sequence_parallel)',
                )

    def _check_class(self, project: Project, cls: ClassFacts, text: str) -> Iterator[Finding]:
        built, forward = cls.methods.get("__init__"), cls.methods.get("forward")
        if built is None or forward is None:
            return
        used = {dotted_name(node) for node in walk(forward) if isinstance(node, ast.Attribute)}
        for node in walk(built):
            if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
                continue
            name = dotted_name(node.targets[0]) or ""
            if (
                name in used
                and (
                    _is_replicated(project, cls, node.value)
                    or _is_beside_column(project, cls, name, node.value)
                )
                and not _is_marked(name, node.value, text)
            ):
                is_norm = not ast.unparse(node.value.func).endswith("Parameter")
                typed = _mark(built, name, is_norm)
                yield self.finding(
                    place_of(cls.module, node),
                    object=cls.name,
                    name=name,
                    fix=unsafe(lines_after(cls.module, node, *typed)),
                    typed=" ".join(part.strip() for part in typed),
                )


def _nothing_marks(project: Project, module: Obj, site: Site) -> bool:
    """Whether the file that builds a layer of torch does not speak of the mark, and no function sets it on others."""
    marking = [m for m in project.modules if not project.is_framework(m) and m.says(_SETS)]
    if not all(len(_SETS.findall(m.text)) == len(_DIRECT.findall(m.text)) for m in marking):
        return False
    named = re.search(r"self\.(\w+)\s*(:[^=]*)?=", site.module.lines[site.node.lineno - 1])
    own = named is not None and re.search(
        rf"self\.{named[1]}\b[\w.]*(\.sequence_parallel|, .sequence_p)", site.module.text
    )
    return not marking or (named is not None and not own)


def _mark(built: ast.FunctionDef, name: str, is_norm: bool) -> tuple[str, ...]:
    """The lines that mark a parameter, or the weight and the bias of a norm."""
    config = "config" if "config" in parameters(built) else "self.config"
    value = f'"sequence_parallel", {config}.sequence_parallel)'
    if not is_norm:
        return (f"setattr({name}, {value}",)
    return (f"for parameter in {name}.parameters():", f"    setattr(parameter, {value}")


def _is_beside_column(project: Project, cls: ClassFacts, name: str, call: ast.Call) -> bool:
    """Whether an nn.Linear gets the very argument that a column-parallel layer of the class gets: an adapter, say.

    Such a layer takes a stretch of the sequence, and so does the adapter.
    """
    ref = project.resolve(cls.module, dotted_name(call.func) or "")
    if not isinstance(ref, External) or ref.dotted != "torch.nn.Linear":
        return False
    columns = set(re.findall(r"(self\.\w+)\s*=\s*(?:\w+\.)*\w*Column\w*Linear\(", cls.text))
    forward = cls.methods["forward"]
    given_names = {arg.arg for arg in forward.args.args}
    takers: dict[str, set[str]] = {}
    for node in walk(forward):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Name):
            takers.setdefault(node.args[0].id, set()).add(dotted_name(node.func) or "")
    return any(name in found and found & columns for given, found in takers.items() if given in given_names)


def _is_replicated(project: Project, cls: ClassFacts, call: ast.Call) -> bool:
    name = dotted_name(call.func)
    ref = project.resolve(cls.module, name) if name else None
    is_torch = (
        isinstance(ref, External)
        and ref.dotted.startswith("torch.nn.")
        and ref.dotted.rsplit(".", 1)[-1] in _WEIGHTED
    )
    off = any(
        k.arg in ("requires_grad", "elementwise_affine") and ast.unparse(k.value) == "False"
        for k in call.keywords
    )
    return is_torch and not off and not _SHARDED.search(ast.unparse(call))


def _is_marked(name: str, call: ast.Call, text: str) -> bool:
    """Whether the mark is set on the parameter, on all of a loop, or asked for when it is made."""
    if any(keyword.arg == "sequence_parallel" for keyword in call.keywords):
        return True
    own = re.compile(rf"{re.escape(name)}\b[^\n]*sequence_parallel(?![\"'],\s*False\))")
    loop = re.compile(
        rf"for\s+[^\n]+\b(?:{re.escape(name)}|self)\.(?:named_)?parameters\(\)[^§]*?sequence_parallel"
    )
    return own.search(text) is not None or loop.search(text) is not None
