"""W7107"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..finding import Finding
from ..language import tr
from ..project.project import External
from ..project.stage_classes import constructor, parameters
from ..project.stages import Stages
from ..rule import Rule, Scope, Symptom
from ..tpstate.inputs import layer_row
from ..tpstate.provider_table import COLUMN, ROW
from ..tpstate.values import Const, Obj, Sym, Value
from ..tpstate.verdicts import site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_PLAIN = ("torch.nn.Linear", "torch.nn.MultiheadAttention")


class PlainLinearInDistributed(Rule):
    """A distributed module or a stage holds a linear layer that is not tensor-parallel."""

    code, symbol = "W7107", "plain-linear-in-distributed"
    message = "`%(name)s` is %(kind)s inside the distributed `%(cls)s`"
    advice = (
        "Use ColumnParallelLinear / RowParallelLinear or the distributed version, or list it under "
        "allow-plain-linear."
    )
    why = "Every rank holds and computes the whole layer: memory and time do not shrink with tp."
    symptom = Symptom.COST
    runtime = "the layer costs the same at tp=8 as at tp=1"
    limits = (
        "Classes named *Distributed*, and stages that hold such. Silent for layers with a side below the largest "
        "TP size, and for an attention that parallel-attention-incomplete reports."
    )
    guide = "2.1: which layers need TP"
    scope = Scope.GUIDE

    bad = """
    from torch import nn


    class MyDistributedFuser(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.config = config
            self.fc = nn.Linear(dim, 4 * dim)  # [plain-linear-in-distributed]

        def forward(self, x):
            return self.fc(x)
    """
    good = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class MyDistributedFuser(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.fc = ColumnParallelLinear(
                dim, 4 * dim, config=config, init_method=config.init_method, gather_output=True
            )
            self.score = nn.Linear(dim, 1)

        def forward(self, x):
            return self.fc(x)[0] * self.score(x)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        smallest = max(analysis.project.settings.tp, default=8)
        allowed = set(analysis.project.settings.allow_plain_linear)
        stages = analysis.project.knowledge(Stages)
        for cls, obj in analysis.built():
            stage = stages.of(cls)
            is_meant = "Distributed" in cls.name or (
                stage is not None and stage.rank is not None and "Distributed" in cls.text
            )
            if not is_meant or cls.name in allowed:
                continue
            for name, value in obj.attrs.items():
                if (
                    not isinstance(value, Obj)
                    or value.made_at is None
                    or _is_small(analysis, cls, value, smallest)
                ):
                    continue
                kind = self._kind(analysis, value)
                if kind.endswith("MultiheadAttention") and _has_parallel(obj):
                    continue  # said by parallel-attention-incomplete
                if kind and value.made_at.module is cls.module and kind.rsplit(".", 1)[-1] not in allowed:
                    yield self.finding(
                        site_place(value.made_at), object=cls.name, name=name, kind=kind, cls=cls.name
                    )

    def _kind(self, analysis: Analysis, value: Obj) -> str:
        dotted = value.cls.dotted
        if dotted in _PLAIN:
            return f"nn.{dotted.rsplit('.', 1)[-1]}"
        facts = value.cls.facts
        if facts is not None and facts.name in ("Mlp", "MLP") and self._is_plain(analysis, facts, value):
            return tr("`%(facts)s`, which holds nn.Linear,", facts=facts.name)
        return ""

    @staticmethod
    def _is_plain(analysis: Analysis, facts: ClassFacts, value: Obj) -> bool:
        external = [entry for entry in analysis.project.mro(facts) if isinstance(entry, External)]
        held = [item.cls.dotted for item in value.attrs.values() if isinstance(item, Obj)]
        return bool(external) and "torch.nn.Linear" in held


def _has_parallel(obj: Obj) -> bool:
    rows = [layer_row(value) for value in obj.attrs.values() if isinstance(value, Obj)]
    return any(row is not None and row.kind in (COLUMN, ROW) for row in rows)


def _is_small(analysis: Analysis, cls: ClassFacts, value: Obj, limit: int) -> bool:
    """Whether a side of a layer is below a limit: as it is written, or by the default of its parameter."""
    init = constructor(analysis.project, cls)
    defaults = parameters(init[1]) if init is not None else {}
    sizes: list[Value] = [
        value.args[key] for key in ("0", "1", "in_features", "out_features") if key in value.args
    ]
    for size in sizes:
        number = size.value if isinstance(size, Const) else None
        if isinstance(size, Sym):
            default = defaults.get(str(size.poly))
            number = default.value if isinstance(default, ast.Constant) else None
        if isinstance(number, int) and number < limit:
            return True
    return False
