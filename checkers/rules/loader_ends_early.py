"""W7545"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..finding import Evidence, Finding
from ..language import tr
from ..project.project import External
from ..project.training import Training, TrainingScript
from ..rule import Rule, Symptom
from ..spmd.frames import Frame, returns
from ..spmd.instances import Made, made_by
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_EXTERNAL = re.compile(r"""['"]external['"]|dataloader[-_]type[\s=]+external""")
_FINITE = frozenset(
    ("DistributedSampler", "SequentialSampler", "RandomSampler", "BatchSampler", "SubsetRandomSampler")
)


class LoaderEndsEarly(Rule):
    """Training takes its batches from an iterator that ends after one pass over the data."""

    code, symbol = "W7545", "loader-ends-early"
    message = "`%(call)s` ends after one pass over the data, and training takes from it up to `--train-iters`"
    advice = "Return a generator that starts again: `endless(loader)`, with `yield from loader` in an endless loop."
    why = (
        "With external loaders Megatron uses the iterator as it is: nothing starts it again, and nothing tells a "
        "sampler of the next epoch. Where one rank reads and broadcasts, the others wait for it in the collective."
    )
    symptom = Symptom.HANG
    runtime = "StopIteration after the first epoch; ranks that wait for a broadcast hang."
    limits = (
        "`iter` of a loader of torch or of a library like it, with a sampler of torch or none, in the data provider of "
        "a script with external loaders. Whether training ends before the epoch does is not in the code."
    )
    guide = "beyond the guide; 3.3 describes the dataset provider"

    bad = """
    from megatron.training import pretrain
    from torch.utils.data import DataLoader


    def datasets(sizes):
        loader = DataLoader(read(), batch_size=2)
        return iter(loader), None, None  # [loader-ends-early]


    def read():
        return list(range(100))


    def main(model_provider, forward_step):
        pretrain(datasets, model_provider, None, forward_step, args_defaults={"dataloader_type": "external"})
    """
    good = """
    from megatron.training import pretrain
    from torch.utils.data import DataLoader


    def endless(loader):
        while True:
            yield from loader


    def datasets(sizes):
        loader = DataLoader(read(), batch_size=2)
        return endless(loader), None, None


    def read():
        return list(range(100))


    def main(model_provider, forward_step):
        pretrain(datasets, model_provider, None, forward_step, args_defaults={"dataloader_type": "external"})
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            provider = script.handed("train_valid_test_dataset_provider")
            if provider is None or not _EXTERNAL.search(script.module.text):
                continue
            frame = Frame(analysis.project, provider)
            for value in returns(frame):
                first = value.elts[0] if isinstance(value, ast.Tuple) and value.elts else value
                made = _loader(first, frame)
                if made is not None and isinstance(first, ast.Call):
                    yield self._found(script, frame, first, made)

    def _found(self, script: TrainingScript, frame: Frame, first: ast.Call, made: Made) -> Finding:
        call, where = made
        function = frame.scope.function
        text = ast.unparse(call.func)
        return self.finding(
            place_of(frame.module, first),
            object=function.name if function is not None else "",
            evidence=(
                Evidence(
                    where.module.display, call.lineno, tr("this `%(text)s` is one epoch long", text=text)
                ),
            ),
            call=ast.unparse(first),
        )


def _loader(node: ast.expr, frame: Frame) -> Made | None:
    """The loader behind `iter(loader)`, if nothing about it may be without an end."""
    is_iter = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "iter"
    if not isinstance(node, ast.Call) or not is_iter or len(node.args) != 1:
        return None
    calls = made_by(node.args[0], frame)
    if not calls or not all(_is_finite(*made) for made in calls):
        return None
    return calls[0]


def _is_finite(call: ast.Call, frame: Frame) -> bool:
    if not frame.external(call.func).endswith("DataLoader") or any(
        word.arg is None for word in call.keywords
    ):
        return False
    data = frame.argument(call, "dataset", 0)
    if data is None or _may_be_endless(data, frame):
        return False
    for name in ("sampler", "batch_sampler"):
        given = frame.argument(call, name, -1)
        for value in _alternatives(given, frame) if given is not None else ():
            is_none = isinstance(value, ast.Constant) and value.value is None
            last = ast.unparse(value.func).rsplit(".", 1)[-1] if isinstance(value, ast.Call) else ""
            if not is_none and last not in _FINITE:
                return False
    return True


def _alternatives(node: ast.expr, frame: Frame) -> list[ast.expr]:
    if isinstance(node, ast.IfExp):
        return [*_alternatives(node.body, frame), *_alternatives(node.orelse, frame)]
    found = frame.definitions(node) if isinstance(node, ast.Name | ast.Attribute) else []
    return [part for value, where in found for part in _alternatives(value, where)] or [node]


def _may_be_endless(node: ast.expr, frame: Frame) -> bool:
    """Whether a dataset is an iterable one; one that is not seen is taken for a list of samples."""
    for call, where in made_by(node, frame):
        ref = where.ref(call.func)
        if isinstance(ref, ClassFacts):
            names = [
                entry.dotted if isinstance(entry, External) else entry.name
                for entry in frame.project.mro(ref)
            ]
            if any("Iterable" in name for name in names) or "__iter__" in ref.methods:
                return True
    return False
