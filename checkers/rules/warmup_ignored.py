"""W7550"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from ..files import disk
from ..files.discovery import display
from ..finding import Evidence, Finding
from ..language import tr
from ..project.project import dotted_name
from ..project.scopes import Scope
from ..project.training import Training, TrainingScript
from ..rule import Rule, Symptom
from ..tpstate.fixes import remove_statement, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_TARGET = re.compile(r"(\w+\.)*\w*Scheduler\.get_lr")
_OPTION = re.compile(r"--lr-warmup-(iters|samples|fraction)[\s=]+(?!0(\.0*)?\s)\S+")


class WarmupIgnored(Rule):
    """A script replaces the learning-rate schedule by one without the warm-up that its command asks for."""

    code, symbol = "W7550", "warmup-ignored"
    message = "`%(target)s` is replaced by `%(function)s`, which knows no warm-up; the command asks for `%(option)s`"
    advice = "Handle the warm-up in `%(function)s` (`self.lr_warmup_steps`), or take the option out of the command."
    why = (
        "Megatron's schedule raises the rate over the warm-up steps before it decays. A function in its place has none "
        "of that for free: the run starts at the full rate, and the option looks as if it had been used."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = (
        "Nothing fails; the first steps run at the full learning rate, and the loss may rise or diverge."
    )
    limits = "`get_lr` of a scheduler class, set by a script beside a shell script that asks for a warm-up."
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "The schedule is Megatron's own again."

    bad = """
    from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler
    from megatron.training import pretrain


    def decayed(self, param_group):
        return param_group["max_lr"] * 0.999**self.num_steps


    def main(datasets, model_provider, forward_step):
        OptimizerParamScheduler.get_lr = decayed  # [warmup-ignored]
        pretrain(datasets, model_provider, None, forward_step)
    """
    good = """
    from megatron.core.optimizer_param_scheduler import OptimizerParamScheduler
    from megatron.training import pretrain


    def decayed(self, param_group):
        warm = min(1.0, self.num_steps / max(self.lr_warmup_steps, 1))
        return warm * param_group["max_lr"] * 0.999**self.num_steps


    def main(datasets, model_provider, forward_step):
        OptimizerParamScheduler.get_lr = decayed
        pretrain(datasets, model_provider, None, forward_step)
    """
    beside = {"run.sh": "torchrun example.py --lr 1e-4 --lr-warmup-iters 1000 --train-iters 10000\n"}

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            for scope in script.scopes:
                for node in scope.nodes:
                    target = dotted_name(node.targets[0]) if isinstance(node, ast.Assign) else None
                    if not isinstance(node, ast.Assign) or target is None or not _TARGET.fullmatch(target):
                        continue
                    function = script.function(node.value, scope)
                    asked = _asked(script) if function is not None and _leaves_out(function) else None
                    if asked is None or function is None or function.function is None:
                        continue
                    yield self.finding(
                        place_of(script.module, node),
                        object=scope.function.name if scope.function is not None else "",
                        evidence=(
                            Evidence(
                                function.module.display,
                                function.function.lineno,
                                tr("`%(name)s` is defined here", name=function.function.name),
                            ),
                            Evidence(asked[0], asked[1], tr("the command asks for a warm-up here")),
                        ),
                        fix=unsafe(remove_statement(script.module, node)),
                        target=target,
                        function=function.function.name,
                        option=asked[2],
                    )


def _leaves_out(function: Scope) -> bool:
    """Whether a schedule speaks of no warm-up, and does not only scale what the original gives."""
    node = function.function
    if node is None or "warmup" in function.module.text_of(node):
        return False
    returns = [part for part in function.nodes if isinstance(part, ast.Return) and part.value is not None]
    return any("get_lr" not in ast.unparse(part) for part in returns)


def _asked(script: TrainingScript) -> tuple[str, int, str] | None:
    """Where a shell script beside the training script asks for a warm-up."""
    for path in disk.matching(script.module.path.parent, "*.sh"):
        with suppress(OSError):
            for number, line in enumerate(disk.read(path).decode(errors="replace").split("\n"), 1):
                found = _OPTION.search(f"{line} ")
                if found is not None and script.module.path.name in disk.read(path).decode(errors="replace"):
                    return display(path), number, found[0]
    return None
