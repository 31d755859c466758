"""C7408"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ModuleFacts
from ..facts.nodes import walk
from ..finding import Finding
from ..rule import Rule, Scope, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_FOLDER = re.compile(r"(.+_)?distributed(_\d+stage)?$")


class TrainingScriptLocation(Rule):
    """A distributed training script does not lie in `examples/{domain}/{model}_distributed[_Nstage]/`."""

    code, symbol = "C7408", "training-script-location"
    message = "the script that calls `pretrain` lies in `%(folder)s`"
    advice = "Move it to `examples/{domain}/{model}_distributed/` (or `…_distributed_4stage/`), with its conf folder."
    why = "Whoever looks for the script of a model, or for the models without one, goes by the folder's name."
    symptom = Symptom.LAYOUT
    runtime = "no effect"
    limits = "Only scripts with a forward step that call `pretrain`; not the training framework's own."
    guide = "Supplementary constraints: where training scripts live"
    scope = Scope.GUIDE

    bad = """
    from onescience.distributed.megatron.training import pretrain


    def forward_step(data_iterator, model):
        return model(next(data_iterator)), None


    if __name__ == "__main__":
        pretrain(None, None, forward_step_func=forward_step)  # [training-script-location]
    """
    good = """
    def forward_step(data_iterator, model):
        return model(next(data_iterator)), None
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for module in analysis.project.modules:
            if (
                "pretrain(" not in module.text
                or "forward_step" not in module.text
                or analysis.project.is_framework(module)
            ):
                continue
            call = _pretrain_call(module)
            if call is not None and not _is_in_place(module):
                folder = module.display.rpartition("/")[0] or "."
                yield self.finding(place_of(module, call), object=module.name, folder=folder)


def _is_in_place(module: ModuleFacts) -> bool:
    parts = module.path.parts[:-1]
    at = [index for index, part in enumerate(parts) if part == "examples"]
    return bool(at) and len(parts) - at[-1] >= 3 and any(_FOLDER.match(part) for part in parts[at[-1] + 1 :])


def _pretrain_call(module: ModuleFacts) -> ast.Call | None:
    if "pretrain" not in module.bindings:
        return None
    for statement in module.tree.body:
        if isinstance(statement, ast.If | ast.FunctionDef):
            for node in walk(statement):
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Name)
                    and node.func.id == "pretrain"
                ):
                    return node
    return None
