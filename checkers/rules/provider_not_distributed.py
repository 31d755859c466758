"""E7506"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..project.project import dotted_name
from ..project.training import PretrainCall, Training, TrainingScript
from ..rule import Rule, Scope, Symptom
from ..tpstate.fixes import lines_before, safe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class ProviderNotDistributed(Rule):
    """The dataset provider is handed to `pretrain` without `is_distributed = True`."""

    code, symbol = "E7506", "provider-not-distributed"
    message = "`%(provider)s` goes to `pretrain` without `%(provider)s.is_distributed = True`"
    advice = "Write `%(provider)s.is_distributed = True` on the line before `pretrain(`."
    why = (
        "Without it the framework builds the datasets on tensor-parallel rank 0 alone and hands None to the others; "
        "a step that calls next() on every rank then fails there, and rank 0 waits for it in the next collective."
    )
    symptom = Symptom.CRASH
    runtime = "TypeError: 'NoneType' object is not an iterator"
    limits = (
        "Only for scripts that train stages. Silent where the provider comes from a file that sets it itself."
    )
    guide = "3.4 the pretrain entry"
    scope = Scope.GUIDE
    fix_kind = "safe"
    fix_note = "Every rank builds the datasets, which a step that broadcasts from rank 0 does not mind."

    bad = """
    from onescience.distributed.megatron.training import pretrain
    from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
    from steps import Fields, forward_step_func, stage_of_rank


    def datasets(train_val_test_num_samples):
        return Fields("train"), Fields("val"), Fields("test")


    def model_provider(pre_process=False, post_process=True):
        return stage_of_rank(PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 96, 32], [1, 96, 32]]]))


    if __name__ == "__main__":
        pretrain(  # [provider-not-distributed]
            train_valid_test_dataset_provider=datasets,
            model_provider=model_provider,
            model_type=None,
            forward_step_func=forward_step_func,
            args_defaults={"dataloader_type": "cyclic"},
        )
    """
    good = """
    from onescience.distributed.megatron.training import pretrain
    from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
    from steps import Fields, forward_step_func, stage_of_rank


    def datasets(train_val_test_num_samples):
        return Fields("train"), Fields("val"), Fields("test")


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
            provider = dotted_name(call.given.get("train_valid_test_dataset_provider", ast.Constant(None)))
            found = script.handed("train_valid_test_dataset_provider")
            if provider is None or found is None or found.module is not script.module:
                continue
            name = getattr(found.function, "name", provider)
            if not _is_set(script, call, {provider, name}):
                line = lines_before(script.module, call.node, f"{provider}.is_distributed = True")
                yield self.finding(
                    place_of(script.module, call.node), object=name, fix=safe(line), provider=provider
                )


def _is_set(script: TrainingScript, call: PretrainCall, names: set[str]) -> bool:
    """Whether `is_distributed` is set to something: before the call where both stand in one function, else anywhere."""
    for scope in script.scopes:
        for node in scope.nodes:
            is_later = scope is call.scope and getattr(node, "lineno", 0) > call.node.lineno
            if not is_later and _sets(node, names):
                return True
    return False


def _sets(node: ast.AST, names: set[str]) -> bool:
    if isinstance(node, ast.Assign):
        is_false = isinstance(node.value, ast.Constant) and not node.value.value
        return not is_false and any(
            (dotted_name(t) or "") in {f"{name}.is_distributed" for name in names} for t in node.targets
        )
    if isinstance(node, ast.Call) and dotted_name(node.func) == "setattr" and len(node.args) == 3:
        key = node.args[1]
        return (
            dotted_name(node.args[0]) in names
            and isinstance(key, ast.Constant)
            and key.value == "is_distributed"
        )
    return False
