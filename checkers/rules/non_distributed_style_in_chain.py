"""W7406"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from ..finding import Evidence, Finding
from ..language import tr
from ..project.counterparts import missing_counterparts
from ..project.distributed import distributed_classes, distributed_name, is_named_distributed, original_of
from ..project.project import External
from ..project.registries import registries, wrappers
from ..project.stages import Stages
from ..rule import Rule, Scope, Symptom
from ..tpstate.callers import by_written_call, callee_text, owner_of
from ..tpstate.config_chain import provider_of
from ..tpstate.events import Built, Rejected, Site
from ..tpstate.values import Const
from ..tpstate.verdicts import at, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_SPLITTABLE = ("Linear", "MultiheadAttention", "Mlp", "MLP")


class NonDistributedStyleInChain(Rule):
    """Below a stage that is split over TP ranks, a style with linear layers is not the distributed one."""

    code, symbol = "W7406", "non-distributed-style-in-chain"
    message = "`%(call)s` below `%(root)s` holds `%(layer)s`, and is not a distributed module"
    advice = (
        "Choose the distributed style, `%(wanted)s`, or write it; allow-plain-linear in the settings allows "
        "`%(cls)s`."
    )
    why = "Every TP rank then holds and computes the whole layer: memory and time that tensor parallelism was to save."
    symptom = Symptom.COST
    runtime = "no error: memory of a rank stays where it was"
    limits = (
        "Only modules built through a registry below a pipeline stage that also holds parallel layers; only linear "
        "layers the module builds itself. Said by distributed-counterpart-missing where the original model uses it too "
        "and there is no distributed style to choose."
    )
    guide = "2.1 and Detection flow, step 2: walk down from the stage"
    scope = Scope.GUIDE

    bad = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class IceSample(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.linear = nn.Linear(dim, dim)


    _SAMPLE_REGISTRY = {"IceSample": IceSample}


    class OneSample(nn.Module):
        def __init__(self, style, **kwargs):
            super().__init__()
            self.sample = _SAMPLE_REGISTRY[style](**kwargs)


    class Ice_stage0(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=config.init_method, gather_output=True)
            self.sample = OneSample(style="IceSample", dim=dim)  # [non-distributed-style-in-chain]
    """
    good = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class IceDistributedSample(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.linear = ColumnParallelLinear(
                dim, dim, config=config, init_method=config.init_method, gather_output=True
            )


    _SAMPLE_REGISTRY = {"IceDistributedSample": IceDistributedSample}


    class OneSample(nn.Module):
        def __init__(self, style, **kwargs):
            super().__init__()
            self.sample = _SAMPLE_REGISTRY[style](**kwargs)


    class Ice_stage0(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.sample = OneSample(style="IceDistributedSample", dim=dim, config=config)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        built = [event for event in analysis.log.events if type(event) is Built]
        styles = _styles(analysis)
        split = _split(built)
        stage_of = _below_split_stages(built, styles, split, _families(analysis))
        elsewhere = {id(found.cls) for found in missing_counterparts(analysis.project)}
        originals = [
            (original_of(analysis.project, cls), cls) for cls in distributed_classes(analysis.project)
        ]
        counterparts = {id(cls): other for cls, other in originals if cls is not None}
        rejected = {site.key for site, _, _ in by_written_call(analysis.log.events, Rejected)}
        seen = set()
        for event in built:
            cls = _styled(event, styles)
            if event.root is None or cls is None or id(event.root) not in stage_of:
                continue
            if is_named_distributed(cls) or not event.certain or id(cls) in split or id(cls) in elsewhere:
                continue
            layer = _plain_layer(analysis, cls)
            site = event.site
            owner = owner_of(site)
            if site.key in seen or not _is_split(owner, split):
                continue
            if layer is None:
                other = counterparts.get(id(cls))
                if other is not None and site.key not in rejected:
                    seen.add(site.key)
                    yield self._plain(event, cls, other, stage_of[id(event.root)])
                continue
            seen.add(site.key)
            yield self.finding(
                site_place(site),
                object=owner.name if owner is not None else event.root.name,
                evidence=(at(Site(cls.module, layer), tr("`%(cls)s` builds it here", cls=cls.name)),),
                call=callee_text(site),
                root=stage_of[id(event.root)],
                layer=ast.unparse(layer.func),
                cls=cls.name,
                wanted=distributed_name(cls),
            )

    def _plain(self, event: Built, cls: ClassFacts, other: ClassFacts, root: str) -> Finding:
        """The style of the plain module, where its distributed counterpart is there to be chosen."""
        owner = owner_of(event.site)
        return self.finding(
            site_place(event.site),
            object=owner.name if owner is not None else root,
            evidence=(
                Evidence(
                    other.module.display, other.node.lineno, tr("`%(other)s` is here", other=other.name)
                ),
            ),
            message="`%(call)s` below `%(root)s` is the plain module, though `%(wanted)s` is there",
            call=callee_text(event.site),
            root=root,
            cls=cls.name,
            wanted=other.name,
        )


Styles = dict[int, dict[str, ClassFacts]]


def _styles(analysis: Analysis) -> Styles:
    """For each registry wrapper, the class of each style."""
    found: Styles = {}
    makers = wrappers(analysis.project)
    for table in registries(analysis.project):
        named = {entry.style: entry.target for entry in table.entries if entry.target is not None}
        for wrapper in makers:
            if wrapper.module is table.module:
                found.setdefault(id(wrapper), {}).update(named)
    return found


def _styled(event: Built, styles: Styles) -> ClassFacts | None:
    """The class that a wrapper was asked for by its style."""
    style = event.obj.args.get("style")
    if event.obj.cls.facts is None or not isinstance(style, Const):
        return None
    return styles.get(id(event.obj.cls.facts), {}).get(str(style.value))


def _families(analysis: Analysis) -> dict[int, list[int]]:
    """The stages of the same model, for each stage."""
    families = analysis.project.knowledge(Stages).families
    return {
        id(stage.cls): [id(other.cls) for other in family.stages]
        for family in families
        for stage in family.stages
    }


def _split(built: list[Built]) -> set[int]:
    """The classes that build parallel layers themselves."""
    return {id(event.owner) for event in built if provider_of(event) is not None}


def _below_split_stages(
    built: list[Built], styles: Styles, split: set[int], families: dict[int, list[int]]
) -> dict[int, str]:
    """Every class that a stage builds, however deep, with the stage's name; models without parallel layers left out.

    Modules built alike are followed once, so what a class builds is gathered over all that was seen.
    """
    below: dict[int, set[int]] = {}
    stages: dict[int, str] = {}
    for event in built:
        if event.root is not None:
            if _is_stage(event.root):
                stages[id(event.root)] = event.root.name
            for part in (event.obj.cls.facts, _styled(event, styles), event.owner):
                if part is not None:
                    below.setdefault(id(event.root), set()).add(id(part))
    reached = {stage: _reached(stage, below) for stage in stages}
    named = {
        id(event.owner) for event in built if event.owner is not None and is_named_distributed(event.owner)
    }
    found: dict[int, str] = {}
    for stage, name in stages.items():
        if any(
            reached[other] & (split | named) for other in families.get(stage, [stage]) if other in reached
        ):
            found.update({key: found.get(key, name) for key in reached[stage]})
    return found


def _reached(stage: int, below: dict[int, set[int]]) -> set[int]:
    reached: set[int] = set()
    waiting = [stage]
    while waiting:
        key = waiting.pop()
        if key not in reached:
            reached.add(key)
            waiting += below.get(key, ())
    return reached


def _is_split(owner: ClassFacts | None, split: set[int]) -> bool:
    """Whether code belongs to the distributed chain: a plain module chooses plain styles rightly."""
    return owner is not None and (_is_stage(owner) or is_named_distributed(owner) or id(owner) in split)


def _is_stage(cls: ClassFacts) -> bool:
    return "set_input_tensor" in cls.methods or "stage" in cls.name.lower()


def _plain_layer(analysis: Analysis, cls: ClassFacts) -> ast.Call | None:
    """A linear layer that the constructor of a class builds, torch's own or a plain MLP of the tree."""
    method = cls.methods.get("__init__")
    allowed = analysis.project.settings.allow_plain_linear
    if method is None or cls.name in allowed:
        return None
    for node in walk(method):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).rsplit(".", 1)[-1]
            if name in _SPLITTABLE and name not in allowed:
                ref = analysis.project.resolve_expression(cls.module, node.func)
                if isinstance(ref, ClassFacts) or (
                    isinstance(ref, External) and ref.dotted.startswith("torch.nn.")
                ):
                    return node
    return None
