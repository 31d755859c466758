"""What several forms say alike: severities, the place of a finding, and how it is known again."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from ...files.discovery import FileSet
from ...finding import Finding, Result
from ...history.identity import identities
from ...language import local, tr
from ...rule import Rule, Symptom
from ...rules import all_rules

NAME = "onescience-check"
_HARM = (
    Symptom.WRONG_NUMBERS,
    Symptom.HANG,
    Symptom.CRASH,
    Symptom.TRAP,
    Symptom.COST,
    Symptom.LAYOUT,
)
"""The worst first: what nobody sees, what burns hours of a cluster, what stops at once."""


def rules_by_symbol() -> dict[str, Rule]:
    """Every rule, by its symbol."""
    return {rule.symbol: rule for rule in all_rules()}


def rule_of(finding: Finding) -> Rule | None:
    """The rule of a finding; None for one that is not ours."""
    return rules_by_symbol().get(finding.symbol)


def most_harmful(result: Result, most: int) -> Result:
    """The result with no more findings than this: errors before warnings, then by what they do at run time; of
    equal harm, one of each rule comes before the second of any."""
    rules = rules_by_symbol()
    seen: Counter[str] = Counter()
    ranked = []
    for finding in result.findings:
        rule = rules.get(finding.symbol)
        harm = _HARM.index(rule.symptom) if rule is not None else len(_HARM)
        ranked.append(("EWRC".find(finding.code[0]), harm, seen[finding.symbol], finding.sort_key, finding))
        seen[finding.symbol] += 1
    ordered = [finding for *_, finding in sorted(ranked, key=lambda row: row[:-1])]
    return replace(result, findings=ordered[:most], left_out=max(0, len(ordered) - most))


def uri(path: str) -> str:
    """A path as a reference: relative where it is, else a file URI."""
    return Path(path).as_uri() if path.startswith("/") else quote(path)


def text_of(finding: Finding) -> str:
    """What is wrong, and what to type, in one line."""
    message, advice = local(finding.message), local(finding.advice)
    return tr("%(message)s. %(advice)s", message=message, advice=advice) if advice else message


def fingerprints(findings: Sequence[Finding], files: FileSet) -> list[str]:
    """A name for each finding that stays the same while its code moves; two alike are counted."""
    seen: Counter[object] = Counter()
    found = []
    for own in identities(list(findings), files.source, str):
        parts = (own.path, own.symbol, own.inside, own.text, str(seen[own]))
        seen[own] += 1
        found.append(hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()[:32])
    return found
