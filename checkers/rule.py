"""The base of every rule. Tests, documentation, `explain`, the Pylint message table and the report all read it."""

from __future__ import annotations

import enum
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from .finding import Evidence, Finding, Fix, Place
from .language import Translatable, tr

if TYPE_CHECKING:
    from .tpstate.analysis import Analysis


class Symptom(enum.Enum):
    """What the fault does when the job runs."""

    CRASH = "crashes"
    HANG = "hangs"
    WRONG_NUMBERS = "computes the wrong numbers, silently"
    COST = "costs time, memory or bandwidth"
    TRAP = "works today and breaks at the next change"
    LAYOUT = "is hard to find"


class Scope(enum.Enum):
    """Universal rules hold for any Megatron-style code; guide rules only where the OneScience guide applies."""

    UNIVERSAL = "universal"
    GUIDE = "guide"


class Rule:
    """One rule, one file.

    `message` is a %-format; it names the layer or tensor, the contradiction, and the place it contradicts.
    `advice` says what to type. `fix_kind` is the most that its typed edits are, `safe` or `unsafe`, or nothing where
    they are for a reader to make; `fix_note` says why. `bad` and `good` are whole small modules: tests run both, and
    each faulty line of `bad` ends in `# [symbol]`. `beside` holds the other files that both read, by name.
    `source` names the file of a rule that a project keeps for itself.
    """

    code: ClassVar[str]
    symbol: ClassVar[str]
    message: ClassVar[str]
    advice: ClassVar[str] = ""
    why: ClassVar[str]
    symptom: ClassVar[Symptom]
    runtime: ClassVar[str]
    limits: ClassVar[str]
    guide: ClassVar[str]
    scope: ClassVar[Scope] = Scope.UNIVERSAL
    maturity: ClassVar[str] = "preview"
    fix_kind: ClassVar[str] = ""
    fix_note: ClassVar[str] = ""
    bad: ClassVar[str]
    good: ClassVar[str]
    beside: ClassVar[dict[str, str]] = {}
    source: str = ""

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        """Yield what is wrong (decided) and what cannot be told (decided=False).

        `analysis.project` answers what the files say, `analysis.log` what happened when the code was run abstractly.
        """
        raise NotImplementedError

    def finding(
        self,
        place: Place,
        *,
        object: str = "",
        evidence: tuple[Evidence, ...] = (),
        fix: Fix | None = None,
        decided: bool = True,
        code: str | None = None,
        advice: str | None = None,
        message: str | None = None,
        **fields: Any,
    ) -> Finding:
        """A finding of this rule at `place`; `fields` fill the %-formats of `message` and `advice`.

        What `tr` made is taken as it is, as message, as advice and as a field.
        """
        return Finding(
            place=place,
            code=code or self.code,
            symbol=self.symbol,
            message=_filled(message or self.message, fields),
            object=object,
            evidence=evidence,
            guide=self.guide,
            fix=fix,
            decided=decided,
            advice=_filled(self.advice if advice is None else advice, fields),
        )

    @classmethod
    def fix_text(cls) -> str:
        """How safe the typed edits are, and why."""
        kind = {"safe": tr("safe"), "unsafe": tr("needs a reader")}.get(cls.fix_kind)
        if kind is None:
            return tr("by hand")
        return tr("%(kind)s. %(note)s", kind=kind, note=tr(" ".join(cls.fix_note.split())))

    @classmethod
    def title(cls) -> str:
        """The first line of the class docstring: what is wrong, in one sentence."""
        return (cls.__doc__ or "").strip().splitlines()[0]

    @classmethod
    def example(cls, kind: str) -> str:
        """The `bad` or `good` example, dedented."""
        return textwrap.dedent(getattr(cls, kind)).strip() + "\n"


def _filled(text: str, fields: dict[str, Any]) -> str:
    return text if isinstance(text, Translatable) or not text else tr(text, **fields)
