"""What this laboratory has agreed on, beyond the rules that hold everywhere."""

from __future__ import annotations

from collections.abc import Iterator

from onescience_check.plugin import UNKNOWN, Finding, ProjectRule, Tree

INTERFACE = 1  # the form of onescience_check.plugin that this file was written for

BASE = "ourlab.models.base.Stage"


class ColumnGathered(ProjectRule):
    """A column-parallel layer gathers its output, which we never do."""

    code, symbol = "R9001", "column-gathered"
    message = "`%(layer)s` gathers its output: every rank holds all of it, and the next layer splits it again"
    advice = (
        "Write `gather_output=False`, and give the row-parallel layer behind it `input_is_parallel=True`."
    )
    why = "Our activations are too large to be held whole."

    def look(self, tree: Tree) -> Iterator[Finding]:
        for layer in tree.layers:
            if layer.kind != "column":
                continue
            gathers = layer.arguments.get("gather_output", False)
            if gathers is True:
                yield self.finding(layer.place, object=layer.inside, layer=layer.name)
            elif gathers is UNKNOWN:
                yield self.finding(layer.place, object=layer.inside, decided=False, layer=layer.name)


class SplitIntoNorm(ProjectRule):
    """The input of a head is known to be split, where our heads want all channels."""

    code, symbol = "E9002", "head-given-split"
    message = "`%(layer)s` is a head, and it is given one rank's channels only"
    advice = "Call a row-parallel layer first."

    def look(self, tree: Tree) -> Iterator[Finding]:
        for call in tree.calls:
            if call.layer.name.endswith("head") and call.given.state == "split" and call.is_certain:
                yield self.finding(
                    call.place, object=call.inside, evidence=call.given.because, layer=call.layer.name
                )


class StageWithoutBase(ProjectRule):
    """A pipeline stage does not inherit from our base class."""

    code, symbol = "W9003", "stage-without-base"
    message = "stage %(rank)s of `%(model)s` does not inherit from `ourlab.models.base.Stage`"
    advice = "Write `class %(name)s(Stage)`: our checkpoints are written by its methods."

    def look(self, tree: Tree) -> Iterator[Finding]:
        for model in tree.models:
            for stage in model.stages:
                if BASE not in (stage.cls.dotted, *stage.cls.bases):
                    yield self.finding(
                        stage.cls.place,
                        object=stage.cls.name,
                        rank=stage.rank,
                        model=model.name,
                        name=stage.cls.name,
                    )
