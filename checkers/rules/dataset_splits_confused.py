"""E7553"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import as_code, walk
from ..finding import Evidence, Finding
from ..language import tr
from ..project.config_reads import Configs
from ..project.scopes import Scope as Names
from ..project.training import Training, TrainingScript
from ..rule import Rule, Scope, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_SPLITS = ("train", "val", "test")
_WORD = re.compile(r"(?:^|[^a-z])(train|val|test)(?:id|idation|ing)?(?=$|[^a-z])")


class DatasetSplitsConfused(Rule):
    """The provider returns training, validation and test data in another order, or validates on training data."""

    code, symbol = "E7553", "dataset-splits-confused"
    message = "%(problem)s"
    advice = "%(typed)s"
    why = (
        "`pretrain` takes the three data sets by their places: training, validation, test. Training data among the "
        "others make the model look better than it is; in another order it trains on what should test it."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "no error: the validation loss follows the training loss, or the model learns the test data"
    limits = "Data sets whose names say what they are for, in the provider of scripts that train stages."
    guide = "3.3 dataset_provider"
    scope = Scope.GUIDE

    bad = """
    from data import Fields
    from megatron.training import pretrain
    from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig


    def datasets(train_val_test_num_samples):
        train_dataset = Fields(mode="train")
        val_dataset = Fields(mode="val")
        test_dataset = Fields(mode="test")
        return train_dataset, test_dataset, val_dataset  # [dataset-splits-confused]


    datasets.is_distributed = True
    pretrain(train_valid_test_dataset_provider=datasets)
    """
    good = bad.replace(
        "train_dataset, test_dataset, val_dataset  # [dataset-splits-confused]",
        "train_dataset, val_dataset, test_dataset",
    )

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            provider = script.handed("train_valid_test_dataset_provider")
            if provider is None or provider.function is None or not script.drives_stages:
                continue
            yield from self._configured(script)
            for node in provider.nodes:
                if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
                    if len(node.value.elts) == len(_SPLITS):
                        yield from self._returned(provider, provider.function.name, node.value)

    def _argument_lost(
        self, provider: Names, name: str, kinds: list[str], made: list[ast.expr | None]
    ) -> Iterator[Finding]:
        """One of three data sets of one class that is not given the last argument of the other two."""
        calls = [call for call in made if isinstance(call, ast.Call) and not call.keywords]
        counts = [len(call.args) for call in calls]
        if len(calls) != len(_SPLITS) or len({as_code(call.func) for call in calls}) != 1:
            return
        if counts.count(max(counts)) == 2 and min(counts) == max(counts) - 1 > 0:
            at = counts.index(min(counts))
            last = [as_code(call.args[-1]) for call in calls if len(call.args) == max(counts)]
            if last[0] == last[1]:
                yield self.finding(
                    place_of(provider.module, calls[at]),
                    object=name,
                    problem=tr(
                        "the %(kind)s data are not given `%(argument)s`, which the others are",
                        kind=kinds[at],
                        argument=last[0],
                    ),
                    typed=tr("Give it `%(argument)s` as well.", argument=last[0]),
                )

    def _configured(self, script: TrainingScript) -> Iterator[Finding]:
        """Times or files of the training data among those of the others, in the configuration."""
        seen: set[object] = set()
        for load in Configs(script).loads.values():
            data = load.file.data if load.file is not None else None
            for key in load.keys:
                data = data.get(key) if isinstance(data, dict) else None
            if not isinstance(data, dict) or load.where in seen:
                continue
            seen.add(load.where)
            for train, other in _overlapping(data):
                yield self.finding(
                    place_of(load.scope.module, load.node),
                    object=other,
                    problem=tr(
                        "`%(other)s` of %(file)s holds what `%(train)s` holds, the training data",
                        other=other,
                        train=train,
                        file=load.file.path.name if load.file is not None else "",
                    ),
                    typed=tr("Give `%(other)s` others than `%(train)s`.", other=other, train=train),
                )

    def _returned(self, provider: Names, name: str, value: ast.Tuple) -> Iterator[Finding]:
        kinds = [_kind(as_code(part)) if isinstance(part, ast.Name) else "" for part in value.elts]
        if sorted(kinds) != sorted(_SPLITS):
            return
        if kinds != list(_SPLITS):
            by_kind = dict(zip(kinds, map(as_code, value.elts), strict=True))
            order = ", ".join(by_kind[kind] for kind in _SPLITS)
            yield self.finding(
                place_of(provider.module, value),
                object=name,
                problem=tr("the data sets are returned as %(kinds)s", kinds=", ".join(kinds)),
                typed=tr("Return `%(order)s`.", order=order),
            )
            return
        made = [provider.value(as_code(part)) for part in value.elts]
        yield from self._argument_lost(provider, name, kinds, made)
        train = made[0]
        for kind, other in zip(kinds[1:], made[1:], strict=True):
            if train is None or other is None or not isinstance(other, ast.Call):
                continue
            if as_code(other) == as_code(train) and _read(other) == {"train"}:
                yield self.finding(
                    place_of(provider.module, other),
                    object=name,
                    evidence=(Evidence(provider.module.display, train.lineno, tr("the training data")),),
                    problem=tr(
                        "the %(kind)s data are the training data: `%(code)s`", kind=kind, code=as_code(other)
                    ),
                    typed=tr("Read the %(kind)s data here.", kind=kind),
                )


def _overlapping(data: dict[object, object]) -> Iterator[tuple[str, str]]:
    """Keys that differ in the name of the split alone, whose lists share entries; two entries may be a range."""
    lists = {
        key: value
        for key, value in data.items()
        if isinstance(key, str) and isinstance(value, list) and value
    }
    for train, taken in lists.items():
        for other, given in lists.items():
            if _kind(train) != "train" or _kind(other) not in ("val", "test"):
                continue
            if _WORD.sub("", train.lower()) != _WORD.sub("", other.lower()):
                continue
            listed = len(taken) > 2 and len(given) != 2 and any(part in taken for part in given)
            if given == taken or listed:
                yield train, other


def _kind(name: str) -> str:
    """What a name says a data set is for; empty where it says nothing, or several things."""
    found = {match[1] for match in _WORD.finditer(name.lower())}
    return found.pop() if len(found) == 1 else ""


def _read(node: ast.expr) -> set[str]:
    """The splits that the fields and strings in an expression name."""
    words = [part.attr for part in walk(node) if isinstance(part, ast.Attribute)]
    words += [
        part.value for part in walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]
    return {kind for word in words if (kind := _kind(word))}
