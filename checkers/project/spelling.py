"""Whether two names of parameters mean the same."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

_SPELLINGS = {
    "image": "img", "channels": "chans", "channel": "chans", "n": "num", "number": "num", "embedding": "embed",
    "emb": "embed", "input": "in", "output": "out", "head": "heads", "win": "window", "depths": "depth",
}  # fmt: skip


def spelling(name: str) -> str:
    """A name with each of its words in one of its spellings: `n_head` and `num_heads` are alike."""
    words = name.lower().split("_")
    return "_".join(_SPELLINGS.get(word, word) for word in words)


def of_same_meaning(name: str, choices: Sequence[str]) -> str | None:
    """The one choice that means what a name means: another spelling, a typing error, or more or fewer words."""
    alike = [choice for choice in choices if spelling(choice) == spelling(name)]
    if not alike:
        alike = difflib.get_close_matches(name, choices, 1, 0.8)
    if not alike:
        words = set(spelling(name).split("_"))
        alike = [
            choice
            for choice in choices
            if (other := set(spelling(choice).split("_"))) and (other <= words or words <= other)
        ]
    return alike[0] if len(alike) == 1 else None
