"""E7507"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..finding import Finding
from ..language import tr
from ..project.project import External, dotted_name
from ..project.scopes import Opaque
from ..project.scopes import Scope as Names
from ..project.training import Training, TrainingScript
from ..rule import Rule, Symptom
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class ProviderReturnsDataloader(Rule):
    """The dataset provider returns DataLoaders, or something else than three datasets."""

    code, symbol = "E7507", "provider-returns-dataloader"
    message = "`%(provider)s` returns %(problem)s; the framework takes three datasets from it"
    advice = (
        "Return three datasets themselves, with no DataLoader around them, and None for one that is not used."
    )
    why = (
        "The framework wraps what it gets in its own DataLoader, with a sampler for the data-parallel ranks; a "
        "DataLoader has no items to sample from."
    )
    symptom = Symptom.CRASH
    runtime = "TypeError: 'DataLoader' object is not subscriptable"
    limits = (
        "Silent where the loader type is `external`, which takes iterators, and where a value cannot be seen."
    )
    guide = "3.3 dataset_provider"
    fix_kind = "unsafe"
    fix_note = "Batch size, workers and collation of the loader are lost: Megatron builds its own."

    bad = """
    from torch.utils.data import DataLoader
    from megatron.training import pretrain
    from steps import Fields, forward_step, model_provider


    def datasets(train_val_test_num_samples):
        train = DataLoader(Fields("train"), batch_size=1)
        return train, DataLoader(Fields("val")), None  # [provider-returns-dataloader]


    pretrain(datasets, model_provider, None, forward_step, args_defaults={"dataloader_type": "cyclic"})
    """
    good = """
    from megatron.training import pretrain
    from steps import Fields, forward_step, model_provider


    def datasets(train_val_test_num_samples):
        train = Fields("train")
        return train, Fields("val"), None


    pretrain(datasets, model_provider, None, forward_step, args_defaults={"dataloader_type": "cyclic"})
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            provider = script.handed("train_valid_test_dataset_provider")
            if provider is None or provider.function is None or _is_external(script):
                continue
            for node in provider.nodes:
                problem = (
                    _problem(script, provider, node.value)
                    if isinstance(node, ast.Return) and node.value
                    else None
                )
                if problem is not None:
                    place = place_of(provider.module, node)
                    loaders = (
                        list(_loaders(script, provider, node.value))
                        if isinstance(node, ast.Return) and node.value
                        else []
                    )
                    edits = [replace(provider.module, call, ast.unparse(call.args[0])) for call in loaders]
                    yield self.finding(
                        place,
                        object=provider.function.name,
                        fix=unsafe(*edits) if "DataLoader, " in problem else None,
                        provider=provider.function.name,
                        problem=problem,
                    )


def _is_external(script: TrainingScript) -> bool:
    call = script.pretrain
    return (
        call is not None
        and ("args_defaults" not in call.given or "external" in ast.unparse(call.given["args_defaults"]))
        and "external" in script.module.text
    )


def _problem(script: TrainingScript, provider: Names, value: ast.expr) -> str | None:
    if isinstance(value, ast.Name):
        value = provider.value(value.id) or value
    value = _made_of(provider, value)
    if isinstance(value, ast.ListComp | ast.GeneratorExp) and _is_loader(script, provider, value.elt):
        return tr("DataLoaders, each `%(elt)s`", elt=ast.unparse(value.elt))
    if isinstance(value, ast.ListComp | ast.GeneratorExp) and len(value.generators) == 1:
        loop = value.generators[0]
        turns = loop.iter.elts if isinstance(loop.iter, ast.Tuple | ast.List) and not loop.ifs else None
        if turns is not None and len(turns) != 3 and not any(isinstance(turn, ast.Starred) for turn in turns):
            return tr("%(number)s values", number=len(turns))
    if not isinstance(value, ast.Tuple | ast.List):
        if isinstance(value, ast.Call) and (dotted_name(value.func) or "").endswith("Dataset"):
            return tr("one data set")
        return tr("one DataLoader") if _is_loader(script, provider, value) else None
    if any(isinstance(item, ast.Starred) for item in value.elts):
        return None
    if len(value.elts) != 3:
        return tr("%(number)s values", number=len(value.elts))
    loaders = [item for item in value.elts if _is_loader(script, provider, item)]
    return f"a DataLoader, `{ast.unparse(loaders[0])}`" if loaders else None


def _made_of(provider: Names, value: ast.expr) -> ast.expr:
    """What `tuple(loaders)` or `list(…)` is made of."""
    while (
        isinstance(value, ast.Call) and dotted_name(value.func) in ("tuple", "list") and len(value.args) == 1
    ):
        inner = value.args[0]
        value = (provider.value(inner.id) or inner) if isinstance(inner, ast.Name) else inner
    return value


def _loaders(script: TrainingScript, provider: Names, value: ast.expr) -> Iterator[ast.Call]:
    """The calls that wrap a dataset, written in the returned tuple or in what its names are bound to."""
    if isinstance(value, ast.Name):
        value = provider.value(value.id) or value
    for item in value.elts if isinstance(value, ast.Tuple) else ():
        made = (provider.value(item.id) or item) if isinstance(item, ast.Name) else item
        if isinstance(made, ast.Call) and made.args and _is_loader(script, provider, made):
            yield made


def _is_loader(script: TrainingScript, provider: Names, node: ast.expr, depth: int = 0) -> bool:
    if isinstance(node, ast.Name) and depth < 4:
        bound = provider.value(node.id)
        return (
            bound is not None
            and not isinstance(bound, Opaque)
            and _is_loader(script, provider, bound, depth + 1)
        )
    name = dotted_name(node.func) if isinstance(node, ast.Call) else None
    ref = script.project.resolve(provider.module, name) if name else None
    if isinstance(ref, ClassFacts):
        bases = script.project.mro(ref)
        return any(
            isinstance(base, External) and base.dotted.endswith("torch.utils.data.DataLoader")
            for base in bases
        )
    return (
        isinstance(ref, External)
        and ref.dotted.startswith("torch.utils.data")
        and ref.dotted.endswith(".DataLoader")
    )
