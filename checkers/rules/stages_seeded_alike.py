"""W7740"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Evidence, Finding, Fix
from ..language import tr
from ..project.training import Training, TrainingScript
from ..rule import Rule, Symptom
from ..spmd.called import Called, calls_of
from ..spmd.dependence import depends
from ..spmd.frames import Frame
from ..spmd.names import PP
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_EVALUATES = re.compile(r"(^|_)(test|eval|evaluate|infer|inference|predict)(_|$)")
_OPTION = re.compile(r"(args|options|opt|get_args\(\))\.seed")
_DEFAULT = re.compile(r"torch\.(random\.)?manual_seed")


class StagesSeededAlike(Rule):
    """The function that builds the model seeds all pipeline stages with one number."""

    code, symbol = "W7740", "stages-seeded-alike"
    message = (
        "`%(call)s` seeds every pipeline stage with %(seed)s before its model is built: blocks of the same shape start "
        "with the same weights on all stages"
    )
    advice = (
        "Add `100 * mpu.get_pipeline_model_parallel_rank()` to the seed, or leave the seeding to Megatron."
    )
    why = (
        "Megatron seeds each process with `--seed` plus 100 times its pipeline rank before it calls the model "
        "provider, so that stages draw other numbers. A seed that is set again takes that back, and the command line's."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = (
        "Nothing fails; the first blocks of all stages are copies of each other, whatever `--seed` says."
    )
    limits = (
        "A number that is written out, or `args.seed`, in what the model provider of a script with pipeline stages "
        "calls. Silent under a test, and in a script that by its name evaluates: its weights are loaded."
    )
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "The weights that training starts from are others."

    bad = """
    import torch
    from megatron.core import mpu
    from megatron.training import pretrain
    from torch import nn


    class Net_stage0(nn.Module):
        def __init__(self, **kwargs):
            super().__init__()
            self.layer = nn.Linear(8, 8)


    class Net_stage1(Net_stage0):
        pass


    def model_provider(pre_process=True, post_process=True):
        torch.manual_seed(2222)  # [stages-seeded-alike]
        return {0: Net_stage0, 1: Net_stage1}[mpu.get_pipeline_model_parallel_rank()]()


    def main(datasets, forward_step):
        pretrain(datasets, model_provider, model_type=None, forward_step_func=forward_step)
    """
    good = """
    import torch
    from megatron.core import mpu
    from megatron.training import pretrain
    from torch import nn


    class Net_stage0(nn.Module):
        def __init__(self, **kwargs):
            super().__init__()
            self.layer = nn.Linear(8, 8)


    class Net_stage1(Net_stage0):
        pass


    def model_provider(pre_process=True, post_process=True):
        torch.manual_seed(2222 + 100 * mpu.get_pipeline_model_parallel_rank())
        return {0: Net_stage0, 1: Net_stage1}[mpu.get_pipeline_model_parallel_rank()]()


    def main(datasets, forward_step):
        pretrain(datasets, model_provider, model_type=None, forward_step_func=forward_step)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            provider = script.handed("model_provider")
            if provider is None or not _has_stages(script) or _EVALUATES.search(script.module.path.stem):
                continue
            for call in calls_of(Frame(analysis.project, provider)):
                seed = call.node.args[0] if call.node.args else None
                if seed is None or call.tests or not _DEFAULT.fullmatch(call.frame.external(call.node.func)):
                    continue
                number = _number(seed, call)
                if number is not None and not depends(seed, call.frame) & PP:
                    function = call.frame.scope.function
                    name = provider.function.name if provider.function is not None else ""
                    yield self.finding(
                        place_of(call.frame.module, call.node),
                        object=function.name if function is not None else "",
                        evidence=(
                            Evidence(
                                provider.module.display,
                                getattr(provider.function, "lineno", 1),
                                tr("`%(name)s` builds the model of each stage", name=name),
                            ),
                        ),
                        fix=_apart(call, seed),
                        call=ast.unparse(call.node),
                        seed=number,
                    )
                    break


def _apart(call: Called, seed: ast.expr) -> Fix | None:
    """The seed with the stage in it, where the file has Megatron's `mpu`."""
    if "mpu" not in call.frame.module.bindings:
        return None
    typed = f"{ast.unparse(seed)} + 100 * mpu.get_pipeline_model_parallel_rank()"
    return unsafe(replace(call.frame.module, seed, typed))


def _has_stages(script: TrainingScript) -> bool:
    return script.drives_stages or (script.num_stages or 0) > 1


def _number(seed: ast.expr, call: Called) -> int | str | None:
    """The number of a seed, or the option of the command line that it is."""
    if _OPTION.fullmatch(ast.unparse(seed)):
        return ast.unparse(seed)
    found = [seed] if isinstance(seed, ast.Constant) else [value for value, _ in call.frame.definitions(seed)]
    values = {value.value for value in found if isinstance(value, ast.Constant) and type(value.value) is int}
    return values.pop() if len(values) == 1 == len(found) else None
