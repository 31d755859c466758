"""W7606"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..finding import Finding, Fix
from ..language import tr
from ..rule import Rule, Symptom
from ..tpstate.fixes import add_import, framework_of, lines_after, statement_of, unsafe
from ..tpstate.parameter_events import ParameterMade
from ..tpstate.values import PER_RANK, Sym
from ..tpstate.verdicts import by_site, owner_name, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_MARKS = re.compile(
    r"set_tensor_model_parallel_attributes|[\"'.]tensor_model_parallel\b|partition_dim|is_tensor_parallel"
    r"|weight_loader|set_weight_attrs|load_weights|requires_grad\s*=\s*False|model_parallel\s*=\s*True"
)
_DIVIDES = re.compile(r"//|divide\(|per_rank|per_partition|_local\b|local_")
_FAMILY = ("megatron", "onescience", "mindspeed", "nemo")


class ShardedParameterUnmarked(Rule):
    """A parameter that holds one rank's share is not marked as tensor-parallel."""

    code, symbol = "W7606", "sharded-parameter-unmarked"
    message = "`%(made)s` holds one rank's share, and nothing marks it as tensor-parallel"
    advice = "%(hint)s"
    why = (
        "The gradient norm counts an unmarked parameter on tensor-parallel rank 0 alone, as a replica; a checkpoint "
        "saves one rank's share as if it were the whole."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "Nothing fails; the gradient norm leaves out the other shards, and clipping is too weak."
    limits = (
        "Only for sizes that the class itself divides by the TP size, in files that import Megatron or a relative. "
        "Silent where the class marks any parameter. `sharded_state_dict` is no mark: only checkpoints read it."
    )
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "Checkpoints and gradient norms change with the mark, and the axis is read off the shape."

    bad = """
    import torch
    from megatron.core import parallel_state
    from torch import nn


    class HeadScale(nn.Module):
        def __init__(self, heads):
            super().__init__()
            tp = parallel_state.get_tensor_model_parallel_world_size()
            self.scale = nn.Parameter(torch.ones(heads // tp))  # [sharded-parameter-unmarked]

        def forward(self, x):
            return x * self.scale
    """
    good = """
    import torch
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import set_tensor_model_parallel_attributes
    from torch import nn


    class HeadScale(nn.Module):
        def __init__(self, heads):
            super().__init__()
            tp = parallel_state.get_tensor_model_parallel_world_size()
            self.scale = nn.Parameter(torch.ones(heads // tp))
            set_tensor_model_parallel_attributes(self.scale, True, 0, 1)

        def forward(self, x):
            return x * self.scale
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for events in by_site(analysis.log.events, ParameterMade):
            event = events[0]
            owner = event.owner
            if owner is None or not _is_megatron(owner) or not _DIVIDES.search(owner.text):
                continue  # where the size is divided by a caller, this place makes whole parameters too
            classes = [entry for entry in analysis.project.mro(owner) if isinstance(entry, ClassFacts)]
            if any(_MARKS.search(cls.text) for cls in classes):
                continue
            hint, fix = _mark(event)
            yield self.finding(
                site_place(event.site),
                object=owner_name(event),
                fix=fix,
                made=ast.unparse(event.site.node),
                hint=hint,
            )


def _mark(event: ParameterMade) -> tuple[str, Fix | None]:
    """What to type: the mark with the axis that was cut, as the sizes of the parameter say it."""
    module, node = event.site.module, event.site.node
    statement = statement_of(module, node)
    is_bound = isinstance(statement, ast.Assign) and statement.value is node
    name = (
        ast.unparse(statement.targets[0]) if isinstance(statement, ast.Assign) and is_bound else "parameter"
    )
    cut = _cut_axes(event)
    if len(cut) != 1:
        typed = f"set_tensor_model_parallel_attributes({name}, is_parallel=True, dim=…, stride=1)"
        return tr(
            "Call `%(typed)s` on it, with the number of the axis that is divided by the TP size.", typed=typed
        ), None
    typed = f"set_tensor_model_parallel_attributes({name}, is_parallel=True, dim={cut[0]}, stride=1)"
    source = f"{framework_of(module)}.core.tensor_parallel"
    imported = add_import(module, source, "set_tensor_model_parallel_attributes")
    line = lines_after(module, node, typed) if is_bound else None
    return tr("Call `%(typed)s`: axis %(cut)s is the one that was cut.", typed=typed, cut=cut[0]), unsafe(
        line, *imported
    )


def _cut_axes(event: ParameterMade) -> list[int]:
    """The axes whose size is divided by the TP size: by what is known of the sizes, else by how they are written."""
    known = [axis for axis, size in enumerate(event.sizes) if isinstance(size, Sym) and PER_RANK in size.tags]
    made = event.site.node.args[0] if isinstance(event.site.node, ast.Call) and event.site.node.args else None
    if known or not isinstance(made, ast.Call):
        return known
    shape = made.args[0].elts if made.args and isinstance(made.args[0], ast.Tuple | ast.List) else made.args
    return [axis for axis, size in enumerate(shape) if _DIVIDES.search(ast.unparse(size))]


def _is_megatron(cls: ClassFacts) -> bool:
    """Whether the file belongs to a family whose optimizer reads the mark."""
    sources = [cls.module.name, *(cls.module.absolute(edge.module) for edge in cls.module.edges)]
    return any(source.split(".")[0] in _FAMILY for source in sources)
