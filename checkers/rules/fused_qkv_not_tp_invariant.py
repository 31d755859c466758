"""W7111"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..tpstate.events import Reshaped, ThirdsTaken
from ..tpstate.layers import label
from ..tpstate.parameter_events import FusedLoad
from ..tpstate.states import State
from ..tpstate.values import Const
from ..tpstate.verdicts import at, by_site, evidence, first_certain, owner_name, site_place, why

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


_GATE = re.compile(r"(?i)(gate\w*, *(up|val|hidden|lin|x)\w*|(up|val|hidden|lin|x)\w*, *gate\w*) *=")
_LAYOUT = re.compile(r"sharded_state_dict|weight_loader|\bload|stride|interleav|convert|merge")
_CONVERTS = re.compile(
    r"(?i)convert|checkpoint|ckpt|loader|saver|reshard|weight|merge|hf_|mapping|state_dict"
)
_LAYS_OUT = re.compile(r"(split|chunk|cat|stack|view|reshape|permute|transpose)\(")
_COUNT = {2: tr("two"), 3: tr("three")}
_QKV = re.compile(r"(?<![a-z])([qkv]|[qkv]{3}|(query|key|value)s?)(?![a-z])", re.IGNORECASE)


class FusedQkvNotTpInvariant(Rule):
    """A fused q/k/v projection is read so that its weight means something else at each tp size."""

    code, symbol = "W7111", "fused-qkv-not-tp-invariant"
    message = "%(how)s: at tp=2 each rank takes another mix of the parts out of the same weight"
    advice = "Use the layout (..., heads, 3, head_dim), or separate q, k and v projections."
    why = (
        "Column parallelism gives rank r the r-th contiguous slice of the weight's rows. Read as three blocks, the "
        "slice of one rank holds q of all its rows at tp=1, and a piece of q and k at tp=2."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "a checkpoint written at tp=1 gives wrong attention at tp=2, with no error"
    limits = (
        "Silent for layers that lay their rows out themselves (QKVParallelLinear, MergedColumnParallelLinear), and "
        "where the file has a `load_weights` that may do so, or a file that converts checkpoints knows the layer."
    )
    guide = "Principle 10: separate q, k and v"

    bad = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Attention(nn.Module):
        def __init__(self, dim, num_heads, config):
            super().__init__()
            tp = config.tensor_model_parallel_size
            assert num_heads % tp == 0
            self.heads, self.head_dim = num_heads // tp, dim // num_heads
            self.qkv = ColumnParallelLinear(
                dim, 3 * dim, config=config, init_method=config.init_method, gather_output=False
            )

        def forward(self, x):
            batch, tokens, _ = x.shape
            qkv, _ = self.qkv(x)
            qkv = qkv.reshape(batch, tokens, 3, self.heads, self.head_dim)  # [fused-qkv-not-tp-invariant]
            return qkv.unbind(2)
    """
    good = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Attention(nn.Module):
        def __init__(self, dim, num_heads, config):
            super().__init__()
            tp = config.tensor_model_parallel_size
            assert num_heads % tp == 0
            self.heads, self.head_dim = num_heads // tp, dim // num_heads
            self.qkv = ColumnParallelLinear(
                dim, 3 * dim, config=config, init_method=config.init_method, gather_output=False
            )

        def forward(self, x):
            batch, tokens, _ = x.shape
            qkv, _ = self.qkv(x)
            qkv = qkv.reshape(batch, tokens, self.heads, 3, self.head_dim)
            return qkv.unbind(3)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for events in by_site(analysis.log.events, Reshaped):
            event = first_certain([event for event in events if _three_before_heads(event)])
            if event is not None and not _loads_itself(event) and not _is_laid_out(analysis, event):
                sizes = ", ".join(ast.unparse(node) for node in event.nodes)
                how = tr("a fused column-parallel projection is reshaped to (%(sizes)s)", sizes=sizes)
                yield self.finding(
                    site_place(event.site),
                    object=owner_name(event),
                    evidence=evidence(why(event.tensor)),
                    how=how,
                )
        for thirds in by_site(analysis.log.events, ThirdsTaken):
            cut = first_certain(
                [
                    event
                    for event in thirds
                    if event.tensor.role == "column" and (_speaks_of_qkv(event) or _is_gated(event))
                ]
            )
            if cut is not None and not _loads_itself(cut) and not _is_laid_out(analysis, cut):
                how = tr(
                    "a fused column-parallel projection is cut into %(count)s contiguous parts",
                    count=_COUNT[cut.count],
                )
                yield self.finding(
                    site_place(cut.site), object=owner_name(cut), evidence=evidence(why(cut.tensor)), how=how
                )
        halved = {
            event.tensor.tag: event
            for event in analysis.log.events
            if isinstance(event, ThirdsTaken) and event.tensor.role == "column"
        }
        for loads in by_site(analysis.log.events, FusedLoad):
            load = first_certain([load for load in loads if load.joined])
            parts = next((load for load in loads if f"column#{load.layer.serial}" in halved), None)
            if load is None and parts is not None:
                yield self._half_loaded(parts, halved[f"column#{parts.layer.serial}"])
            if load is not None:
                name = label(load.layer)
                yield self.finding(
                    site_place(load.site),
                    object=owner_name(load),
                    evidence=(at(load.layer.made_at, tr("`%(name)s` is column-parallel", name=name)),),
                    how=tr("the weight of `%(name)s` is one slice of a concatenation", name=name),
                    advice=tr(
                        "Cut each part by itself and join the slices: torch.cat([w.chunk(tp)[rank] for w in "
                        "parts]) for `%(name)s`.",
                        name=name,
                    ),
                )

    def _half_loaded(self, load: FusedLoad, cut: ThirdsTaken) -> Finding:
        name = label(load.layer)
        return self.finding(
            site_place(load.site),
            object=owner_name(load),
            evidence=(
                at(load.layer.made_at, tr("`%(name)s` is column-parallel", name=name)),
                at(
                    cut.site,
                    tr(
                        "its output is cut into %(count)s parts, which the whole weight holds one after another",
                        count=cut.count,
                    ),
                ),
            ),
            how=tr("the weight of `%(name)s` is one slice of the whole of its parts", name=name),
            advice=tr(
                "Cut the weight into its %(count)s parts first and each part by itself: "
                "`torch.cat([part.chunk(tp)[rank] for part in weight.chunk(%(count)s)])` for `%(name)s`.",
                count=cut.count,
                name=name,
            ),
        )


def _is_gated(event: ThirdsTaken) -> bool:
    """Whether two parts are named as a gate and what it multiplies, and no other place knows of the layout."""
    node = event.site.node
    lines = "\n".join(event.site.module.lines[node.lineno - 1 : node.end_lineno])
    return event.count == 2 and bool(_GATE.search(lines)) and not event.site.module.says(_LAYOUT)


def _loads_itself(event: Reshaped | ThirdsTaken) -> bool:
    """Whether a model of the file copies its checkpoint in piece by piece, as inference engines do."""
    return re.search(r"def load_weights\(", event.site.module.text) is not None


def _is_laid_out(analysis: Analysis, event: Reshaped | ThirdsTaken) -> bool:
    """Whether another file cuts and joins the weight by the name of its layer, as those do that convert checkpoints."""
    names = re.findall(r"`(\w+)`", event.tensor.why.text) if event.tensor.why is not None else []
    return any(
        module.says(_LAYS_OUT)
        and any(f"{name}." in module.text or f'"{name}"' in module.text for name in names)
        for module in analysis.project.modules
        if module is not event.site.module and _CONVERTS.search(module.display)
    )


def _speaks_of_qkv(event: ThirdsTaken) -> bool:
    """Whether the statement names a query, key or value: three parts may also be shift, scale and gate."""
    node = event.site.node
    return event.count == 3 and any(
        _QKV.search(line) for line in event.site.module.lines[node.lineno - 1 : node.end_lineno]
    )


def _three_before_heads(event: Reshaped) -> bool:
    tensor = event.tensor
    if tensor.state is not State.SHARDED or tensor.role != "column":
        return False
    for index, size in enumerate(event.sizes[:-2]):
        if isinstance(size, Const) and size.value == 3 and index >= 1:
            return "head" in ast.unparse(event.nodes[index + 1])
    return False
