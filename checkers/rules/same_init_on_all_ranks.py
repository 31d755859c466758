"""W7604"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from ..finding import Finding
from ..project.enclosing import calls_within, is_forked
from ..project.project import External, FunctionRef, Project, dotted_name
from ..rule import Rule, Symptom
from ..tpstate.parameter_events import ParameterMade
from ..tpstate.verdicts import by_site, owner_name, place_of, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_DRAWS = frozenset(f"torch.{name}" for name in "rand randn normal randint".split())
_OWN_SEED = re.compile(
    r"rng|fork\(|seed|generator|init_method\(|reset_parameters|parallel_rank|tp_rank|load_"
)

_SEEDED = re.compile(r"rng|fork\(|seed|generator|parallel_rank|tp_rank|load_")


class SameInitOnAllRanks(Rule):
    """Every tensor-parallel rank draws the same numbers for its own shard."""

    code, symbol = "W7604", "same-init-on-all-ranks"
    message = (
        "`%(made)s` is one rank's share of a weight, drawn from the seed that all tensor-parallel ranks share"
    )
    advice = (
        "Draw under `with get_cuda_rng_tracker().fork():`, which has a seed for each tensor-parallel rank."
    )
    why = (
        "The default generator is seeded alike on all ranks of a tensor-parallel group, so that replicated weights "
        "agree. Drawn from it, the shards are copies of one another, and the layer has the rank of one shard."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "Nothing fails; the layer starts with repeated rows and training at tp=2 is worse than at tp=1."
    limits = (
        "Only for sizes divided by the TP size. Silent where the class mentions a generator, a seed or its rank, "
        "and where the tree seeds each rank by its number."
    )
    guide = "beyond the guide"

    bad = """
    import torch
    from megatron.core import parallel_state
    from torch import nn


    class ExpertBank(nn.Module):
        def __init__(self, experts, width):
            super().__init__()
            tp = parallel_state.get_tensor_model_parallel_world_size()
            self.bank = nn.Parameter(torch.randn(experts // tp, width))  # [same-init-on-all-ranks]
            self.bank.tensor_model_parallel = True

        def forward(self, x):
            return x @ self.bank.t()
    """
    good = """
    import torch
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import get_cuda_rng_tracker
    from torch import nn


    class ExpertBank(nn.Module):
        def __init__(self, experts, width):
            super().__init__()
            tp = parallel_state.get_tensor_model_parallel_world_size()
            with get_cuda_rng_tracker().fork():
                self.bank = nn.Parameter(torch.randn(experts // tp, width))
            self.bank.tensor_model_parallel = True

        def forward(self, x):
            return x @ self.bank.t()
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        if analysis.project.knowledge(_seeds_by_rank):
            return
        for events in by_site(analysis.log.events, ParameterMade):
            event = events[0]
            if event.owner is None:
                continue
            yield from self._drawn_in_place(analysis, event)
            if _OWN_SEED.search(_text(event)) or not _draws(analysis, event):
                continue
            yield self.finding(
                site_place(event.site), object=owner_name(event), made=ast.unparse(event.site.node)
            )

    def _drawn_in_place(self, analysis: Analysis, event: ParameterMade) -> Iterator[Finding]:
        """`nn.init.normal_(self.weight)` of a parameter of one rank's size, outside every generator of its own."""
        owner = event.owner
        assert owner is not None
        name = _attribute(owner, event.site.node)
        if name is None or _SEEDED.search(owner.text):
            return
        for function in owner.methods.values():
            for node, around in calls_within(function):
                ref = analysis.project.resolve(owner.module, dotted_name(node.func) or "")
                drawn = (
                    isinstance(ref, External) and ref.dotted.startswith("torch.nn.init.")
                ) or _initialises(ref)
                if drawn and _given(node, name) and not _constant(node) and not is_forked(around):
                    yield self.finding(
                        place_of(owner.module, node), object=owner.name, made=ast.unparse(node)
                    )


_SEEDS_BY_RANK = re.compile(r"manual_seed(_all)?\([^)\n]*rank")


def _seeds_by_rank(project: Project) -> bool:
    """Whether the tree gives each rank a seed of its own."""
    return any(module.says(_SEEDS_BY_RANK) for module in project.modules if not project.is_framework(module))


def _initialises(ref: object) -> bool:
    """Whether a function of the tree is a copy of one of torch's initialisers, which draw from the default seed."""
    if not isinstance(ref, FunctionRef) or not _INITIALISERS.fullmatch(ref.node.name):
        return False
    return _IN_PLACE.search(ref.module.text) is not None and not _SEEDED.search(ref.module.text_of(ref.node))


_INITIALISERS = re.compile(
    r"_?(trunc_normal|normal|uniform|xavier_\w+|kaiming_\w+|orthogonal|lecun_\w+)_(tf_)?"
)
_IN_PLACE = re.compile(r"\.(uniform|normal|trunc_normal)_\(")


def _attribute(owner: ClassFacts, made: ast.AST) -> str | None:
    """The attribute that a parameter is stored in."""
    for function in owner.methods.values():
        for node in walk(function):
            if isinstance(node, ast.Assign) and node.value is made:
                return dotted_name(node.targets[0])
    return None


def _given(node: ast.Call, name: str) -> bool:
    """Whether a call gets the parameter itself, or its data."""
    given = dotted_name(node.args[0]) if node.args else None
    return given is not None and given.removesuffix(".data") == name


def _constant(node: ast.Call) -> bool:
    """Whether nothing is drawn: zeros, ones, constants are alike on all ranks on purpose."""
    return (dotted_name(node.func) or "").rsplit(".", 1)[-1] in (
        "zeros_",
        "ones_",
        "constant_",
        "eye_",
        "dirac_",
    )


def _text(event: ParameterMade) -> str:
    """The source of the class that makes the parameter."""
    owner = event.owner
    return "" if owner is None else owner.text


def _draws(analysis: Analysis, event: ParameterMade) -> bool:
    """Whether the data stands in the call, drawn there, possibly scaled."""
    node = event.site.node
    given = node.args[0] if isinstance(node, ast.Call) and node.args else None
    for part in ast.walk(given) if given is not None else ():
        name = dotted_name(part.func) if isinstance(part, ast.Call) else None
        ref = analysis.project.resolve(event.site.module, name) if name else None
        if isinstance(ref, External) and ref.dotted in _DRAWS:
            return True
    return False
