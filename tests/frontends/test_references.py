"""The file that a finding names shows the right way: it holds the words, and the rule is silent on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from onescience_check.checkers.frontends.explanation import print_explanation
from onescience_check.checkers.frontends.references import REFERENCES, reference
from onescience_check.checkers.rules import all_rules

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("symbol", REFERENCES)
def test_the_reference_file_shows_it(symbol: str) -> None:
    assert symbol in {rule.symbol for rule in all_rules()}
    text = (ROOT / reference(symbol)).read_text("utf-8")
    assert REFERENCES[symbol][1] in text
    assert f"disable={symbol}" not in text and f"disable-next={symbol}" not in text


def test_explain_names_it(capsys: pytest.CaptureFixture[str]) -> None:
    for rule in all_rules():
        print_explanation(rule)
        assert ("\nReference\n" in capsys.readouterr().out) == (rule.symbol in REFERENCES)
