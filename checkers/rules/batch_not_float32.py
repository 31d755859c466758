"""W7508"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import is_none
from ..finding import Finding
from ..language import tr
from ..project.batch import Batch
from ..project.data_reads import DataRead, data_reads
from ..project.loss_binding import loss_bindings
from ..project.project import dotted_name
from ..project.scopes import Scope
from ..project.training import Training, TrainingScript
from ..rule import Rule, Symptom
from ..tpstate.events import Site
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import at, place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_CONVERTS = re.compile(r"\.float\(|float32|float16|dtype|half\(|autocast")
_COUNT = re.compile(r"dtype=torch\.(int\w*|long|bool)\b")
_CONVERTS_IN_LOSS = re.compile(r"\.float\(|float32|float16|half\(|autocast|type_as|\.to\(")
_WHOLE_NUMBERS = re.compile(r"token|input_ids|mask|text|position|index|graph|seq", re.IGNORECASE)


_TYPES = {"double": "double", "float64": "double", "half": "half", "float16": "half", "bfloat16": "half"}
"""Methods and types that are not float32."""

_HALF = re.compile(r"fp16|bf16")
"""A script that says so trains in half precision."""


class BatchNotFloat32(Rule):
    """Data from the iterator reaches the model or the loss in the type the dataset happened to give it."""

    code, symbol = "W7508", "batch-not-float32"
    message = "`%(value)s` comes from `%(read)s` and reaches %(target)s without a conversion to float32"
    advice = "Write `%(typed)s`."
    why = "NumPy and HDF5 give float64 as a matter of course; the weights are float32, or half under mixed precision."
    symptom = Symptom.CRASH
    runtime = "RuntimeError: Input type (double) and bias type (c10::Half) should be the same"
    limits = (
        "Undecided where neither the dataset nor stages of the guide are in sight. Silent where dataset, model or loss "
        "convert, after any function that is not known, and for token ids, masks and graphs."
    )
    guide = "3.2 forward_step_func"
    fix_kind = "unsafe"
    fix_note = "The data may be wanted in another type than float32."

    bad = """
    from functools import partial
    from megatron.training import pretrain
    from torch.utils.data import Dataset
    from steps import l2_loss, model_provider


    class Fields(Dataset):
        def __getitem__(self, i):
            return self.cube[i], self.cube[i + 1]  # float64, as NumPy made it


    def datasets(train_val_test_num_samples):
        return Fields(), Fields(), None


    def forward_step(data_iterator, model):
        field, target = next(data_iterator)
        output = model(field.cuda())  # [batch-not-float32]
        return output, partial(l2_loss, target.cuda().float())


    pretrain(datasets, model_provider, None, forward_step)
    """
    good = """
    from functools import partial
    from megatron.training import pretrain
    from torch.utils.data import Dataset
    from steps import l2_loss, model_provider


    class Fields(Dataset):
        def __getitem__(self, i):
            return self.cube[i], self.cube[i + 1]  # float64, as NumPy made it


    def datasets(train_val_test_num_samples):
        return Fields(), Fields(), None


    def forward_step(data_iterator, model):
        field, target = next(data_iterator)
        output = model(field.cuda().float())
        return output, partial(l2_loss, target.cuda().float())


    pretrain(datasets, model_provider, None, forward_step)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            for step in script.forward_steps:
                reads = [
                    read.node for read in data_reads(script, step) if read.scope.function is step.function
                ]
                if not reads:
                    yield from self._from_helper(script, step)
                    continue
                batch = Batch(step, reads)
                yield from self._other_type(script, step, batch)
                for value, target in (*_model_inputs(script, step), *_loss_inputs(script, step)):
                    if target == "the model" and "label" in ast.unparse(value):
                        continue  # a language model takes its token labels itself
                    if batch.is_raw(value) and not _WHOLE_NUMBERS.search(ast.unparse(value)):
                        converts, is_seen = _datasets(script)
                        if converts:
                            break
                        typed = _as_float32(value)
                        yield self.finding(
                            place_of(step.module, value),
                            fix=unsafe(replace(step.module, value, typed)),
                            object=step.function.name if step.function is not None else "",
                            evidence=(at(Site(step.module, reads[0]), tr("the batch is read here")),),
                            decided=is_seen or script.drives_stages,
                            value=ast.unparse(value),
                            read=ast.unparse(reads[0]),
                            target=target,
                            typed=typed,
                        )

    def _from_helper(self, script: TrainingScript, step: Scope) -> Iterator[Finding]:
        """A batch that a function of the script reads and returns in parts: `x, y = get_batch(data_iterator)`."""
        for read in data_reads(script, step):
            parts = _returned_parts(step, read)
            raw = Batch(read.scope, [read.node])
            for value, target in (*_model_inputs(script, step), *_loss_inputs(script, step)):
                part = parts.get(value.id) if isinstance(value, ast.Name) else None
                if part is None or not raw.is_raw(part) or _WHOLE_NUMBERS.search(ast.unparse(part)):
                    continue
                if _converts_later(step, value) or (target == "the model" and "label" in ast.unparse(value)):
                    continue
                converts, is_seen = _datasets(script)
                if converts:
                    return
                typed = _as_float32(part)
                yield self.finding(
                    place_of(read.scope.module, part),
                    fix=unsafe(replace(read.scope.module, part, typed)),
                    object=read.scope.function.name if read.scope.function is not None else "",
                    evidence=(at(Site(step.module, value), tr("it is used here")),),
                    decided=is_seen or script.drives_stages,
                    value=ast.unparse(part),
                    read=ast.unparse(read.node),
                    target=target,
                    typed=typed,
                )

    def _other_type(self, script: TrainingScript, step: Scope, batch: Batch) -> Iterator[Finding]:
        """Input of a stage that the step turns into float64 or, in a run that is not fp16, into float16."""
        if not script.drives_stages:
            return
        seen: set[int] = set()
        for value, target in (*_model_inputs(script, step), *_loss_inputs(script, step)):
            made = step.bound.get(value.id, []) if isinstance(value, ast.Name) else [value]
            for node, method, inner in (part for whole in made for part in _chain(whole)):
                kind = _TYPES.get(method) or _asked_type(node)
                half = kind == "half" and not script.module.says(_HALF)
                if (kind == "double" or half) and id(node) not in seen and batch.is_raw(inner):
                    seen.add(id(node))
                    typed = _as_float(node, inner)
                    yield self.finding(
                        place_of(step.module, node),
                        fix=unsafe(replace(step.module, node, typed)),
                        object=step.function.name if step.function is not None else "",
                        value=ast.unparse(node),
                        read=ast.unparse(batch.reads[0]),
                        target=target,
                        typed=typed,
                    )


def _as_float(call: ast.Call, inner: ast.expr) -> str:
    """The call with float32 in place of the other type."""
    text = ast.unparse(call)
    types = "|".join(_TYPES)
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("to", "type"):
        return re.sub(rf"\btorch\.({types})\b", "torch.float32", text)
    return f"{ast.unparse(inner)}.float()"


def _asked_type(call: ast.Call) -> str | None:
    """What `.to("cuda", dtype=torch.float16)` and `.type(torch.double)` make of a value."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("to", "type"):
        return None
    for value in (*call.args, *(word.value for word in call.keywords if word.arg == "dtype")):
        name = dotted_name(value) or ""
        if name.startswith("torch.") and name[6:] in _TYPES:
            return _TYPES[name[6:]]
    return None


def _returned_parts(step: Scope, read: DataRead) -> dict[str, ast.expr]:
    """The names that the step unpacks the parts of a batch into, and what the reading function returns for each."""
    returns = [part.value for part in read.scope.of(ast.Return) if isinstance(part.value, ast.Tuple)]
    tuples = [value for value in returns if not all(is_none(part) for part in value.elts)]
    for node in step.nodes:
        if isinstance(node, ast.Assign) and node.value is read.call and len(tuples) == 1:
            names = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else []
            if len(names) == len(tuples[0].elts):
                pairs = zip(names, tuples[0].elts, strict=True)
                return {name.id: part for name, part in pairs if isinstance(name, ast.Name)}
    return {}


def _converts_later(step: Scope, value: ast.expr) -> bool:
    return len(step.bound.get(ast.unparse(value), ())) > 1


def _chain(node: ast.expr) -> Iterator[tuple[ast.Call, str, ast.expr]]:
    """The methods that make a value, the last one first: call, name and what it is called on."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        yield node, node.func.attr, node.func.value
        node = node.func.value


def _as_float32(value: ast.expr) -> str:
    """The value on the device and as float32; what puts it on the device already is not written twice."""
    text = ast.unparse(value)
    if not isinstance(value, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
        text = f"({text})"
    return f"{text}.float()" if re.search(r"\.(cuda|to)\(", text) else f"{text}.cuda().float()"


def _model_inputs(script: TrainingScript, step: Scope) -> Iterator[tuple[ast.expr, str]]:
    """Arguments of the model, unless a stage that can be seen converts its own input."""
    name = step.parameters[1] if len(step.parameters) > 1 else ""
    stages = script.family.stages if script.family is not None else []
    if any(_CONVERTS.search(_text(stage.cls, "forward")) for stage in stages[:1]):
        return
    for node in step.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            for value in (*node.args, *(keyword.value for keyword in node.keywords)):
                yield value, tr("the model")


def _loss_inputs(script: TrainingScript, step: Scope) -> Iterator[tuple[ast.expr, str]]:
    """What is bound to a loss function that can be seen and converts nothing."""
    for binding in loss_bindings(script, step):
        if not _CONVERTS.search(_COUNT.sub("", ast.unparse(binding.function))):
            for value in (*binding.bound, *binding.named.values()):
                yield value, tr("the loss `%(name)s`", name=getattr(binding.function, "name", "lambda"))
        loss = binding.loss
        if loss is None or loss.outer is None or loss.outer.function is not step.function:
            continue
        if _CONVERTS_IN_LOSS.search(ast.unparse(binding.function)):
            continue
        taken: set[str] = set()
        for node in loss.nodes:  # what the closure takes from the step
            if isinstance(node, ast.Name) and loss.owner_of(node.id) is loss.outer and node.id not in taken:
                taken.add(node.id)
                yield node, tr("the loss `%(name)s`", name=getattr(binding.function, "name", "lambda"))


def _datasets(script: TrainingScript) -> tuple[bool, bool]:
    """Whether a dataset that the provider returns converts, and whether one could be seen at all."""
    provider = script.handed("train_valid_test_dataset_provider")
    seen: list[ClassFacts] = []
    for node in provider.nodes if provider is not None else ():
        name = dotted_name(node.func) if isinstance(node, ast.Call) else None
        ref = script.project.resolve(provider.module, name) if name and provider is not None else None
        if isinstance(ref, ClassFacts) and script.project.method(ref, "__getitem__") is not None:
            seen.append(ref)
    return any(_CONVERTS.search(_text(cls, "")) for cls in seen), bool(seen)


def _text(cls: ClassFacts, method: str) -> str:
    node = cls.methods.get(method) if method else cls.node
    return "" if node is None else cls.module.text_of(node)
