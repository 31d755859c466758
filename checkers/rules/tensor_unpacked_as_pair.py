"""E7127"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..rule import Rule, Symptom
from ..tpstate.events import NotAPair
from ..tpstate.fixes import statement_of
from ..tpstate.verdicts import by_site, evidence, first_certain, owner_name, site_place, why

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class TensorUnpackedAsPair(Rule):
    """The tensor that an embedding returns is unpacked like the pair of a parallel linear."""

    code, symbol = "E7127", "tensor-unpacked-as-pair"
    message = "a parallel embedding returns one tensor, and it is unpacked as if it were `(output, bias)`"
    advice = "Drop the second name: `%(first)s = %(call)s`."
    why = (
        "Only the parallel linear layers return a pair. A tensor is taken apart along its first dimension, so the "
        "name holds the first row of a batch of two, and any other batch size fails."
    )
    symptom = Symptom.CRASH
    runtime = "ValueError: too many values to unpack; with two rows, tensors of one dimension less further on"
    limits = (
        "Only for embeddings of a known library, and a second name that says it is thrown away or is a bias."
    )
    guide = "beyond the guide"
    bad = """
    from megatron.core.tensor_parallel import VocabParallelEmbedding
    from torch import nn


    class Words(nn.Module):
        def __init__(self, vocab, dim, config):
            super().__init__()
            self.table = VocabParallelEmbedding(vocab, dim, init_method=config.init_method, config=config)

        def forward(self, ids):
            x, _ = self.table(ids)  # [tensor-unpacked-as-pair]
            return x.transpose(0, 1)
    """
    good = """
    from megatron.core.tensor_parallel import VocabParallelEmbedding
    from torch import nn


    class Words(nn.Module):
        def __init__(self, vocab, dim, config):
            super().__init__()
            self.table = VocabParallelEmbedding(vocab, dim, init_method=config.init_method, config=config)

        def forward(self, ids):
            x = self.table(ids)
            return x.transpose(0, 1)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for events in by_site(analysis.log.events, NotAPair):
            event = first_certain(events)
            target = event.site.node if event is not None else None
            if event is not None and isinstance(target, ast.Tuple | ast.List):
                statement = statement_of(event.site.module, target)
                call = statement.value if isinstance(statement, ast.Assign) else None
                yield self.finding(
                    site_place(event.site),
                    object=owner_name(event),
                    evidence=evidence(why(event.tensor)),
                    first=ast.unparse(target.elts[0]),
                    call=ast.unparse(call) if call is not None else "…",
                )
