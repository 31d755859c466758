"""W7406"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..finding import Finding
from ..project.distributed import is_named_distributed
from ..project.project import External
from ..rule import Rule, Scope, Symptom
from ..tpstate.callers import callee_text
from ..tpstate.events import Site
from ..tpstate.module_tree import Module, ModuleTree
from ..tpstate.verdicts import at, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_SPLITTABLE = ("Linear", "MultiheadAttention", "Mlp", "MLP")


class NonDistributedStyleInChain(Rule):
    """Below a stage that is split over TP ranks, a style with linear layers is not the distributed one."""

    code, symbol = "W7406", "non-distributed-style-in-chain"
    message = "`%(call)s` below `%(root)s` holds `%(layer)s`, and is not a distributed module"
    advice = "Choose the distributed style of `%(cls)s`, or make one; `allow-plain-linear` in the settings allows it."
    why = "Every TP rank then holds and computes the whole layer: memory and time that tensor parallelism was to save."
    symptom = Symptom.COST
    runtime = "no error: memory of a rank stays where it was"
    limits = (
        "Only modules built through a registry below a pipeline stage that also holds parallel layers; only linear "
        "layers the module builds itself."
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
        roots = [cls for cls, _ in analysis.built() if _is_stage(cls)]
        seen = set()
        for tree in (ModuleTree(analysis, [root]) for root in roots):
            root = tree.roots[0]
            if root.kind != "distributed":
                continue
            for owner, module in _below(root):
                cls = module.cls
                if cls is None or module.site is None or not module.via or is_named_distributed(cls):
                    continue
                layer = _plain_layer(analysis, cls)
                if layer is None or module.site.key in seen or not _names_style(module.site.node):
                    continue
                seen.add(module.site.key)
                yield self.finding(
                    site_place(module.site),
                    object=owner.name,
                    evidence=(at(Site(cls.module, layer), f"`{cls.name}` builds it here"),),
                    call=callee_text(module.site),
                    root=root.dotted.rsplit(".", 1)[-1],
                    layer=ast.unparse(layer.func),
                    cls=cls.name,
                )


def _is_stage(cls: ClassFacts) -> bool:
    return "set_input_tensor" in cls.methods or "stage" in cls.name.lower()


def _below(module: Module, owner: ClassFacts | None = None) -> Iterator[tuple[ClassFacts, Module]]:
    """Every module that is surely there, with the class whose code builds it; none on one branch only."""
    owner = module.cls or owner
    for child in module.children:
        if not child.condition and owner is not None:
            yield owner, child
            yield from _below(child, owner)


def _names_style(node: ast.AST) -> bool:
    """Whether a call spells its style out."""
    return isinstance(node, ast.Call) and any(
        keyword.arg == "style" and isinstance(keyword.value, ast.Constant | ast.JoinedStr) for keyword in node.keywords
    )


def _plain_layer(analysis: Analysis, cls: ClassFacts) -> ast.Call | None:
    """A linear layer that the constructor of a class builds, torch's own or a plain MLP of the tree."""
    method = cls.methods.get("__init__")
    allowed = analysis.project.settings.allow_plain_linear
    if method is None or cls.name in allowed:
        return None
    for node in ast.walk(method):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).rsplit(".", 1)[-1]
            if name in _SPLITTABLE and name not in allowed:
                ref = analysis.project.resolve_expression(cls.module, node.func)
                if (
                    isinstance(ref, ClassFacts)
                    or isinstance(ref, External)
                    and ref.dotted.startswith("torch.nn.")
                ):
                    return node
    return None
