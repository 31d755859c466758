"""What is seen of tokens that are split over ranks."""

from __future__ import annotations

from dataclasses import dataclass, field

from .events import Event
from .states import Tokens
from .values import Obj


@dataclass
class TokensMixed(Event):
    """One rank's own tokens met all tokens, under sequence parallelism."""

    tokens: tuple[Tokens, Tokens] = field(kw_only=True)
    how: str = field(kw_only=True)


@dataclass
class TokensJoined(Event):
    """Stretches of several sequences were joined along the tokens."""

    tokens: Tokens = field(kw_only=True)


@dataclass
class TokensGathered(Event):
    """All tokens were gathered, or scattered stretches scattered, a second time: `taker` does it."""

    tokens: Tokens = field(kw_only=True)
    taker: str = field(kw_only=True)


@dataclass
class TokensUnmarked(Event):
    """A module whose parameters are not marked got one rank's own tokens."""

    tokens: Tokens = field(kw_only=True)
    module: Obj = field(kw_only=True)


@dataclass
class TokensInLoss(Event):
    """A balancing loss over the tokens was computed from one rank's own tokens."""

    tokens: Tokens = field(kw_only=True)
    loss: str = field(kw_only=True)


@dataclass
class TokensRaw(Event):
    """One rank's own tokens met a parameter that every rank holds whole."""

    tokens: Tokens = field(kw_only=True)
