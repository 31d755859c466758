"""E7108"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..finding import Evidence, Finding
from ..language import tr
from ..project.config_reads import Configs
from ..project.launch import launches
from ..project.stage_calls import build_call
from ..project.training import Training, TrainingScript
from ..rule import Rule, Symptom
from ..tpstate.parameter_events import Divided
from ..tpstate.script_values import ScriptValues
from ..tpstate.stage_models import HEAD_COUNTS
from ..tpstate.values import HEADS, Const, Sym
from ..tpstate.verdicts import at, by_site, owner_name, place_of, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class HeadsNotDivisibleByTp(Rule):
    """A known head count is not a multiple of a tensor-parallel size that is to be used."""

    code, symbol = "E7108", "heads-not-divisible-by-tp"
    message = "%(heads)s heads (%(name)s) cannot be divided by tp=%(tp)s"
    advice = "Use a head count that is a multiple of every TP size, or another `tp` in the settings."
    why = "Each TP rank computes whole heads."
    symptom = Symptom.CRASH
    runtime = "AssertionError, or a reshape that does not fit, at that tp"
    limits = (
        "Only the TP sizes of the settings, of `--tp` and of a shell script that starts the training script, and head "
        "counts that are literals, defaults, or in a YAML file; where no TP size is known, those that none but 1 "
        "divides."
    )
    guide = "Principle 8: every num_heads is divisible by tp_size"

    bad = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Query(nn.Module):
        def __init__(self, dim, config, num_heads=15):
            super().__init__()
            assert num_heads % config.tensor_model_parallel_size == 0
            self.heads = num_heads // config.tensor_model_parallel_size  # [heads-not-divisible-by-tp]
            self.q_proj = ColumnParallelLinear(
                dim, dim, config=config, init_method=config.init_method, gather_output=False
            )

        def forward(self, x):
            return self.q_proj(x)[0].unflatten(-1, (self.heads, -1))
    """
    good = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class Query(nn.Module):
        def __init__(self, dim, config, num_heads=16):
            super().__init__()
            assert num_heads % config.tensor_model_parallel_size == 0
            self.heads = num_heads // config.tensor_model_parallel_size
            self.q_proj = ColumnParallelLinear(
                dim, dim, config=config, init_method=config.init_method, gather_output=False
            )

        def forward(self, x):
            return self.q_proj(x)[0].unflatten(-1, (self.heads, -1))
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            yield from self._given(script)
        for events in by_site(analysis.log.events, Divided):
            for event in events:
                heads = _known_heads(event)
                wrong = [tp for tp in analysis.project.settings.tp if heads is not None and heads % tp]
                if heads is not None and wrong:
                    yield self.finding(
                        site_place(event.site),
                        object=owner_name(event),
                        evidence=tuple(at(site, tr("built from here")) for site in event.stack[:3]),
                        heads=heads,
                        name=event.name,
                        tp=wrong[0],
                    )
                    break

    def _given(self, script: TrainingScript) -> Iterator[Finding]:
        """Head counts that a script, or its YAML file, gives the stages, and that a TP size does not divide."""
        found = build_call(script)
        if found is None:
            return
        call, scope = found
        values = ScriptValues(script.project, Configs(script))
        for keyword in call.keywords:
            heads = values.value(keyword.value, scope) if keyword.arg in HEAD_COUNTS else None
            counts = heads if isinstance(heads, tuple) else (heads,)
            if not all(type(count) is int and count > 0 for count in counts):
                continue
            common, sizes = math.gcd(*counts), _started(script)
            wrong = [tp for tp in (*script.project.settings.tp, *sizes) if common % tp]
            if wrong and common > 1:
                tp = wrong[0]
                yield self.finding(
                    place_of(script.module, keyword.value),
                    object=keyword.arg or "",
                    evidence=(Evidence(*sizes[tp], tr("tp=%(tp)s is given here", tp=tp)),)
                    if tp in sizes
                    else (),
                    heads=", ".join(str(count) for count in counts if count % tp),
                    name=ast.unparse(keyword.value),
                    tp=tp,
                )
            elif common == 1:
                yield self.finding(
                    place_of(script.module, keyword.value),
                    object=keyword.arg or "",
                    message="%(heads)s heads (`%(name)s`) have no common divisor: no tensor-parallel size but 1 works",
                    advice="Choose head counts that are multiples of the TP sizes to be used.",
                    heads=", ".join(map(str, counts)),
                    name=ast.unparse(keyword.value),
                )


def _started(script: TrainingScript) -> dict[int, tuple[str, int]]:
    """The tensor-parallel sizes that shell scripts start a script with, and where they say so."""
    option = "tensor-model-parallel-size"
    return {
        tp: (launch.display, launch.line(option))
        for launch in launches(script)
        if (tp := launch.number(option)) is not None
    }


def _known_heads(event: Divided) -> int | None:
    top = event.top
    if isinstance(top, Const) and isinstance(top.value, int) and "head" in event.name:
        return top.value
    if isinstance(top, Sym) and HEADS in top.tags and event.root is not None:
        return _default(event.root, top.text)
    return None


def _default(cls: ClassFacts, text: str) -> int | None:
    """The default of a constructor parameter `name`, or of its item `name[i]`."""
    method = cls.methods.get("__init__")
    name, _, rest = text.partition("[")
    if method is None:
        return None
    for arg, default in zip(reversed(method.args.args), reversed(method.args.defaults), strict=False):
        if arg.arg == name:
            try:
                value = ast.literal_eval(default)
                value = value[int(rest.rstrip("]"))] if rest else value
            except (ValueError, TypeError, IndexError, KeyError):
                return None
            return value if isinstance(value, int) else None
    return None
