"""A pattern is looked for by the words it needs: the answer is that of a search of the whole text."""

from __future__ import annotations

import re

import pytest

from onescience_check.checkers.facts.words import holds, words_of

TEXTS = [
    "",
    "x = a.all_reduce(y)\n",
    'x = "all-reduce"  # MAX_norm of a group\n',
    "dist.all_reduce (x)\nbarrier\n",
    "naïve_norm = torch.ones(3)\n",
    "all = reduce = 1\n",
]
PATTERNS = [
    re.compile(text, flags)
    for text in (
        "all_reduce",
        "reduce|barrier",
        r"\ball\b",
        r"all[-_]reduce",
        r"all_reduce\s*\(",
        r"(max|ones)_?\w*norm",
        r"(?i:max)_norm",
        r"(?:ones|zeros)\(\d",
        r"(?:all_reduce)?\(",
        r"x(?!yz)|ïve_",
        r"torch\.ones\(",
        r"^barrier$",
        r"(dist\.){1,2}all",
        r"\ball\b|\bbarrier\b",
        r"\b(all|max)_\w*\b",
        r"\b(?:ones|naïve)_norm|MAX(?=_)",
        r"(all)_reduce.*\1",
        r"[|)]|all\|x|[]|]",
        r"\ball*_|\bredu(ce)?",
        r"\b(all|(dist|re)\.|x) = ",
        r"\w*norm = |class \w*norm",
        r"(MAX_|all_)?(re)?duce\(|(dist|x)*\.all",
        r"(?=x = )|(?!x)\w+ = torch",
        r"\bna\w+_[a-z]{4}\b",
    )
    for flags in (0, re.IGNORECASE, re.MULTILINE)
]


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: f"{pattern.pattern}-{int(pattern.flags)}")
def test_the_answer_is_that_of_a_search(pattern: re.Pattern[str]) -> None:
    for text in TEXTS:
        assert holds(pattern, text, words_of(text)) == bool(pattern.search(text)), text


def test_a_text_without_the_words_is_not_searched() -> None:
    class Text(str):
        def __contains__(self, part: object) -> bool:
            raise AssertionError("the text was searched")

    assert not holds(re.compile(r"dist\.all_reduce\("), Text("a = b\n" * 9), words_of("a = b\n" * 9))
