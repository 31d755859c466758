"""E7717"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..rule import Rule, Symptom
from ..tpstate.token_events import TokensJoined
from ..tpstate.verdicts import by_site, evidence, owner_name, site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class SequenceShardsJoined(Rule):
    """Stretches of two sequences are joined on each rank, and the tokens come out in another order."""

    code, symbol = "E7717", "sequence-shards-joined"
    message = (
        "with sequence parallelism on, one rank's stretches of several sequences are joined along the tokens: "
        "gathered, they are no longer one sequence after the other"
    )
    advice = "Join the whole sequences first, and then cut: `scatter_to_sequence_parallel_region(torch.cat(…, dim=0))`."
    why = (
        "Rank 0 then holds the beginnings of both sequences and rank 1 their ends; a gather gives the tokens in the "
        "order a0 b0 a1 b1. Positions, causal masks and slices by modality mean other tokens than at tp=1."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "nothing fails; the loss differs from that of a run without sequence parallelism"
    limits = "Only where the parts are followed from Megatron's sequence-region functions and joined along dimension 0."
    guide = "beyond the guide"
    bad = """
    import torch
    from megatron.core.tensor_parallel import scatter_to_sequence_parallel_region
    from torch import nn


    class Join(nn.Module):
        def __init__(self, config):
            super().__init__()
            self.config = config

        def forward(self, image, text):
            if self.config.sequence_parallel:
                image = scatter_to_sequence_parallel_region(image)
                text = scatter_to_sequence_parallel_region(text)
            return torch.cat((image, text), dim=0)  # [sequence-shards-joined]
    """
    good = """
    import torch
    from megatron.core.tensor_parallel import scatter_to_sequence_parallel_region
    from torch import nn


    class Join(nn.Module):
        def __init__(self, config):
            super().__init__()
            self.config = config

        def forward(self, image, text):
            if self.config.sequence_parallel:
                return scatter_to_sequence_parallel_region(torch.cat((image, text), dim=0))
            return torch.cat((image, text), dim=0)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for events in by_site(analysis.log.events, TokensJoined):
            event = next((event for event in events if not event.on_one_rank), None)
            if event is not None:
                yield self.finding(
                    site_place(event.site), object=owner_name(event), evidence=evidence(event.tokens.why)
                )
