"""E7515"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..language import tr
from ..project.training import Training
from ..rule import Rule, Scope, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_GIVEN = ("pre_process", "post_process")


class ModelProviderSignature(Rule):
    """The model provider cannot be called with `pre_process` and `post_process`."""

    code, symbol = "E7515", "model-provider-signature"
    message = "`%(provider)s(%(parameters)s)` is called as `%(provider)s(pre_process=…, post_process=…)`: %(problem)s"
    advice = "Write `def %(provider)s(pre_process=False, post_process=True):`."
    why = "The framework calls the provider with these two keywords and nothing else, on every rank."
    symptom = Symptom.CRASH
    runtime = "TypeError: model_provider() got an unexpected keyword argument 'pre_process'"
    limits = "Only for scripts that train stages, and for a function whose definition can be seen and is not decorated."
    guide = "3.1 model_provider"
    scope = Scope.GUIDE

    bad = """
    from onescience.distributed.megatron.training import pretrain
    from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
    from steps import datasets, forward_step_func, stage_of_rank


    def model_provider(config):  # [model-provider-signature]
        shapes = PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 96, 32], [1, 96, 32]]])
        return stage_of_rank(config, shapes)


    pretrain(
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
    from steps import datasets, forward_step_func, stage_of_rank


    def model_provider(pre_process=False, post_process=True, vp_stage=None):
        shapes = PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 96, 32], [1, 96, 32]]])
        return stage_of_rank(shapes)


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
            provider = script.handed("model_provider") if script.drives_stages else None
            if provider is None or provider.function is None or provider.function.decorator_list:
                continue
            problem = _problem(provider.function.args)
            if problem is not None:
                name, parameters = provider.function.name, ast.unparse(provider.function.args)
                place = place_of(provider.module, provider.function)
                yield self.finding(place, object=name, provider=name, parameters=parameters, problem=problem)


def _problem(spec: ast.arguments) -> str | None:
    named = [arg.arg for arg in (*spec.args, *spec.kwonlyargs)]
    missing = [name for name in _GIVEN if name not in named] if spec.kwarg is None else []
    if missing:
        return tr("it takes no `%(missing)s`", missing=missing[0])
    positional = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    required = positional[: len(positional) - len(spec.defaults)]
    required += [
        arg.arg for arg, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default is None
    ]
    extra = [name for name in required if name not in _GIVEN]
    return tr("nothing is given for `%(extra)s`", extra=extra[0]) if extra else None
