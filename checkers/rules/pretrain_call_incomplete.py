"""E7505"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ModuleFacts
from ..finding import Finding, Fix
from ..language import tr
from ..project.training import PretrainCall, Training
from ..rule import Rule, Scope, Symptom
from ..tpstate.fixes import replace, set_keyword, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_NEEDED = ("train_valid_test_dataset_provider", "model_provider", "forward_step_func")


class PretrainCallIncomplete(Rule):
    """`pretrain` is called without something that training stages needs."""

    code, symbol = "E7505", "pretrain-call-incomplete"
    message = "`pretrain` is called %(problem)s"
    advice = "Write `%(typed)s` in the call."
    why = (
        "Stages are no Megatron encoder or decoder, so the framework must be told that there is no model type; and "
        "its default loader counts consumed samples, which only the cyclic one does with a plain Dataset."
    )
    symptom = Symptom.CRASH
    runtime = "TypeError: pretrain() missing 1 required positional argument: 'model_type'"
    limits = (
        "Only for scripts that train stages. Silent where `**` hides arguments, and where a loader of another type "
        "is given together with a provider that returns iterators."
    )
    guide = "3.4 the pretrain entry"
    scope = Scope.GUIDE
    fix_kind = "unsafe"
    fix_note = "Values that are not seen in the tree are those of the guide."

    bad = """
    from onescience.distributed.megatron.training import pretrain
    from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
    from steps import datasets, forward_step_func, stage_of_rank


    def model_provider(pre_process=False, post_process=True):
        return stage_of_rank(PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 96, 32], [1, 96, 32]]]))


    if __name__ == "__main__":
        datasets.is_distributed = True
        pretrain(  # [pretrain-call-incomplete]
            train_valid_test_dataset_provider=datasets,
            model_provider=model_provider,
            model_type=None,
            forward_step_func=forward_step_func,
        )
    """
    good = """
    from onescience.distributed.megatron.training import pretrain
    from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
    from steps import datasets, forward_step_func, stage_of_rank


    def model_provider(pre_process=False, post_process=True):
        return stage_of_rank(PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 96, 32], [1, 96, 32]]]))


    if __name__ == "__main__":
        datasets.is_distributed = True
        pretrain(
            train_valid_test_dataset_provider=datasets,
            model_provider=model_provider,
            model_type=None,
            forward_step_func=forward_step_func,
            args_defaults={"dataloader_type": "cyclic"},
        )
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            call = script.pretrain
            if call is None or not script.drives_stages:
                continue
            for problem, typed in _problems(call):
                yield self.finding(
                    place_of(script.module, call.node),
                    object="pretrain",
                    fix=_typed(script.module, call, *typed.split("=", 1)),
                    problem=problem,
                    typed=typed,
                )


def _typed(module: ModuleFacts, call: PretrainCall, name: str, value: str) -> Fix | None:
    """The keyword in the call; None for a function that the file does not have, or entries that would be lost."""
    given = call.given.get(name)
    if name in _NEEDED and name not in module.bindings:
        return None
    if isinstance(given, ast.Dict) and len(given.keys) > 1:
        return None
    if given is not None and all(keyword.value is not given for keyword in call.node.keywords):
        return unsafe(replace(module, given, value))
    return unsafe(set_keyword(module, call.node, name, value))


def _problems(call: PretrainCall) -> Iterator[tuple[str, str]]:
    for name in _NEEDED:
        if name not in call.given and not call.is_open:
            yield tr("without `%(name)s`", name=name), f"{name}={name}"
    model_type = call.given.get("model_type")
    if model_type is None:
        if not call.is_open:
            yield tr("without `model_type`"), "model_type=None"
    elif isinstance(model_type, ast.Attribute | ast.Constant) and not _is(model_type, None):
        yield (
            tr("with model_type=%(model_type)s, and stages have none", model_type=ast.unparse(model_type)),
            "model_type=None",
        )
    yield from _loader(call)


def _loader(call: PretrainCall) -> Iterator[tuple[str, str]]:
    defaults = call.given.get("args_defaults")
    wanted = "args_defaults={'dataloader_type': 'cyclic'}"
    if defaults is None:
        if not call.is_open:
            yield tr("without args_defaults, so the loader is not the cyclic one"), wanted
        return
    if isinstance(defaults, ast.Name):
        defaults = call.scope.value(defaults.id)
    if not isinstance(defaults, ast.Dict) or None in defaults.keys:
        return
    entries = {
        key.value: value
        for key, value in zip(defaults.keys, defaults.values, strict=True)
        if isinstance(key, ast.Constant)
    }
    if len(entries) < len(defaults.keys):
        return
    given = entries.get("dataloader_type")
    if given is None:
        yield tr("with args_defaults that lack dataloader_type"), wanted
    elif isinstance(given, ast.Constant) and given.value not in ("cyclic", "external"):
        yield tr("with dataloader_type %(value)s", value=repr(given.value)), wanted


def _is(node: ast.expr, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value
