"""E7713"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..rule import Rule, Symptom
from ..tpstate.events import Event
from ..tpstate.states import Tokens
from ..tpstate.token_events import TokensGathered, TokensMixed
from ..tpstate.verdicts import evidence, owner_name, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class FullOnSequenceShard(Rule):
    """Under sequence parallelism a value of one rank's tokens meets one of all tokens."""

    code, symbol = "E7713", "full-on-sequence-shard"
    message = (
        "with sequence parallelism on, a value of all tokens and one of one rank's own tokens meet in %(how)s"
    )
    advice = (
        "Bring both to the same tokens: `reduce_scatter_to_sequence_parallel_region` for a partial sum that joins the "
        "residual, `gather_from_sequence_parallel_region` in front of what needs all, and the length of all tokens "
        "for positions and masks inside attention."
    )
    why = (
        "Between the layers each rank holds its stretch of the sequence; a column-parallel layer gathers all tokens, "
        "and a row-parallel one scatters them again. Positions, masks and residuals must be as long as what they meet."
    )
    symptom = Symptom.CRASH
    runtime = (
        "RuntimeError: the size of tensor a must match the size of tensor b at non-singleton dimension 0"
    )
    limits = (
        "Only where both are followed from Megatron's sequence-region functions, and both hang on one flag."
    )
    guide = "beyond the guide"
    bad = """
    from megatron.core.tensor_parallel import (
        gather_from_sequence_parallel_region,
        reduce_from_tensor_model_parallel_region,
        reduce_scatter_to_sequence_parallel_region,
        scatter_to_sequence_parallel_region,
    )
    from torch import nn


    class Experts(nn.Module):
        def __init__(self, experts, config):
            super().__init__()
            self.config = config
            self.experts = experts

        def forward(self, tokens):
            x = scatter_to_sequence_parallel_region(tokens) if self.config.sequence_parallel else tokens
            every = x
            if self.config.sequence_parallel:
                every = gather_from_sequence_parallel_region(x)
            out = every.tanh()
            if self.config.sequence_parallel:
                out = reduce_from_tensor_model_parallel_region(out)
            return x + out  # [full-on-sequence-shard]
    """
    good = """
    from megatron.core.tensor_parallel import (
        gather_from_sequence_parallel_region,
        reduce_from_tensor_model_parallel_region,
        reduce_scatter_to_sequence_parallel_region,
        scatter_to_sequence_parallel_region,
    )
    from torch import nn


    class Experts(nn.Module):
        def __init__(self, experts, config):
            super().__init__()
            self.config = config
            self.experts = experts

        def forward(self, tokens):
            x = scatter_to_sequence_parallel_region(tokens) if self.config.sequence_parallel else tokens
            every = x
            if self.config.sequence_parallel:
                every = gather_from_sequence_parallel_region(x)
            out = every.tanh()
            if self.config.sequence_parallel:
                out = reduce_scatter_to_sequence_parallel_region(out)
            return x + out
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for event in first_of_each(analysis.log.events, TokensMixed):
            assert isinstance(event, TokensMixed)
            yield self.finding(
                site_place(event.site),
                object=owner_name(event),
                evidence=evidence(*(tokens.why for tokens in event.tokens)),
                how=event.how,
            )


def first_of_each(
    events: Iterable[Event], *kinds: type[TokensMixed | TokensGathered]
) -> Iterator[TokensMixed | TokensGathered]:
    """One event for each place where all tokens came to be: the certain one, or the first."""
    found: dict[tuple[str, int], TokensMixed | TokensGathered] = {}
    for event in events:
        if isinstance(event, kinds) and not event.on_one_rank:
            cause = origin(event)
            if cause not in found or (event.certain and not found[cause].certain):
                found[cause] = event
    yield from found.values()


def origin(event: TokensMixed | TokensGathered) -> tuple[str, int]:
    """Where what is wrong began: the step that made all tokens of one rank's, or the place itself."""
    held: tuple[Tokens, ...] = event.tokens if isinstance(event, TokensMixed) else (event.tokens,)
    steps = [tokens.why for tokens in held if tokens.why is not None and tokens.held == "all"]
    return (steps[0].path, steps[0].line) if steps else (event.site.module.display, event.site.node.lineno)
