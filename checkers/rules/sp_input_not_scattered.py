"""E7711"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import as_code
from ..finding import Evidence, Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..spmd.axes import last_name
from ..spmd.frames import Frame, functions
from ..tpstate.token_events import TokensGathered, TokensMixed
from ..tpstate.verdicts import evidence, owner_name, place_of, site_place
from .full_on_sequence_shard import first_of_each

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class SpInputNotScattered(Rule):
    """A sequence that is gathered is gathered again, or a scattered one scattered again."""

    code, symbol = "E7711", "sp-input-not-scattered"
    message = "with sequence parallelism on, %(taker)s %(does)s: the value holds %(held)s already"
    advice = (
        "Leave out one of the two: a column-parallel layer gathers by itself, so its input stays as "
        "`scatter_to_sequence_parallel_region` or a row-parallel layer left it."
    )
    why = (
        "With `sequence_parallel` a column-parallel layer takes one rank's tokens and gathers those of all ranks. "
        "What holds them all is joined tp times over; what is one rank's stretch is cut once more."
    )
    symptom = Symptom.CRASH
    runtime = "the sequence is tp times as long (or as short) as the labels or the residual it meets"
    limits = (
        "Only where the tokens are followed from Megatron's sequence-region functions, and the layer's own flag is the "
        "one they hang on."
    )
    guide = "beyond the guide"
    bad = """
    from megatron.core.tensor_parallel import (
        ColumnParallelLinear,
        gather_from_sequence_parallel_region,
        scatter_to_sequence_parallel_region,
    )
    from torch import nn


    class Head(nn.Module):
        def __init__(self, vocab, config):
            super().__init__()
            self.config = config
            self.out = ColumnParallelLinear(
                config.hidden_size, vocab, config=config, init_method=config.init_method, gather_output=False
            )

        def forward(self, x):
            if self.config.sequence_parallel:
                x = scatter_to_sequence_parallel_region(x)
                x = gather_from_sequence_parallel_region(x)
            return self.out(x)[0]  # [sp-input-not-scattered]
    """
    good = """
    from megatron.core.tensor_parallel import (
        ColumnParallelLinear,
        gather_from_sequence_parallel_region,
        scatter_to_sequence_parallel_region,
    )
    from torch import nn


    class Head(nn.Module):
        def __init__(self, vocab, config):
            super().__init__()
            self.config = config
            self.out = ColumnParallelLinear(
                config.hidden_size, vocab, config=config, init_method=config.init_method, gather_output=False
            )

        def forward(self, x):
            if self.config.sequence_parallel:
                x = scatter_to_sequence_parallel_region(x)
            return self.out(x)[0]
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _SCATTERS, _TRANSPOSES):
            for call, made in _transposed(frame):
                yield self.finding(
                    place_of(frame.module, call),
                    object=frame.function_name,
                    message="`%(text)s`: with `reduce_scatter_embeddings` the embedding has given [s, b, h] and cut it",
                    evidence=(Evidence(frame.module.display, made.lineno, tr("built here")),),
                    text=as_code(call),
                    advice=tr("Take the result as it is, or leave `reduce_scatter_embeddings` out."),
                )
        for event in first_of_each(analysis.log.events, TokensGathered, TokensMixed):
            if isinstance(event, TokensGathered) and not _is_itself(event):
                whole = event.tokens.held == "all"
                yield self.finding(
                    site_place(event.site),
                    object=owner_name(event),
                    evidence=evidence(event.tokens.why),
                    taker=event.taker,
                    does=tr("gathers the tokens again") if whole else tr("cuts the tokens again"),
                    held=tr("all tokens") if whole else tr("one rank's tokens"),
                )


def _is_itself(event: TokensGathered) -> bool:
    """Whether the tokens came to be in this very line, in an earlier round: what stands between is not seen whole."""
    why = event.tokens.why
    return why is not None and (why.path, why.line) == (event.site.module.display, event.site.node.lineno)


_SCATTERS = re.compile(r"reduce_scatter_embeddings")
_TRANSPOSES = re.compile(r"transpose\(|permute\(")


def _transposed(frame: Frame) -> Iterator[tuple[ast.Call, ast.Call]]:
    """`self.word(ids).transpose(0, 1)` of a vocabulary-parallel embedding that scatters what it gives."""
    for call in frame.scope.calls:
        func = call.func
        if (
            not isinstance(func, ast.Attribute)
            or func.attr != "transpose"
            or not isinstance(func.value, ast.Call)
        ):
            continue
        if [as_code(arg) for arg in call.args] not in (["0", "1"], ["1", "0"]):
            continue
        held = frame.definitions(func.value.func) if isinstance(func.value.func, ast.Attribute) else []
        made = held[0][0] if len(held) == 1 else None
        if isinstance(made, ast.Call) and last_name(made.func) == "VocabParallelEmbedding":
            flag = frame.argument(made, "reduce_scatter_embeddings", 99)
            if flag is not None and (as_code(flag) == "True" or "sequence_parallel" in as_code(flag)):
                yield call, made
