"""W7548"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ModuleFacts
from ..finding import Evidence, Finding
from ..language import tr
from ..project.project import Project
from ..project.scopes import Scope
from ..rule import Rule, Symptom
from ..spmd.axes import last_name
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_DEFAULTS: dict[str, object] = {
    "tensor_model_parallel_size": 1, "pipeline_model_parallel_size": 1, "context_parallel_size": 1,
    "expert_model_parallel_size": 1, "seed": 1234, "clip_grad": 1.0, "weight_decay": 0.01, "log_interval": 100,
    "eval_interval": 1000, "eval_iters": 100, "hidden_dropout": 0.1, "attention_dropout": 0.1, "num_workers": 2,
}  # fmt: skip
"""Options of Megatron whose parser has a default, in all versions since Megatron-Core 0.4, with that default."""
_CALLS = frozenset(("pretrain", "initialize_megatron", "validate_args"))


class DefaultOverridden(Rule):
    """A script gives Megatron a default for an option whose parser has one already, which wins."""

    code, symbol = "W7548", "default-overridden"
    message = (
        "`%(key)s: %(value)s` in args_defaults has no effect: the parser's own default, %(default)s, is taken"
    )
    advice = "Take the entry out, and give --%(option)s %(value)s on the command line."
    why = (
        "`args_defaults` fills only those arguments that are None after parsing. An argument with a default is never "
        "None, so the entry is dropped with a line in the log."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "WARNING: overriding default arguments for tensor_model_parallel_size:2 with tensor_model_parallel_size:1"
    limits = "Options whose default is the same in all versions of Megatron-Core; a command line may set them, too."
    guide = "beyond the guide; 3.4 describes pretrain"

    bad = """
    from megatron.training.initialize import initialize_megatron


    def main():
        initialize_megatron(
            args_defaults={
                "tensor_model_parallel_size": 2,  # [default-overridden]
                "micro_batch_size": 1,
            }
        )
    """
    good = """
    from megatron.training.initialize import initialize_megatron


    def main():
        initialize_megatron(args_defaults={"micro_batch_size": 1, "tokenizer_type": "NullTokenizer"})
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        for module in project.modules:
            if "args_defaults" not in module.text or project.is_framework(module):
                continue
            for scope in Scope(module).all_scopes():
                for node in scope.nodes:
                    given = _defaults(node, scope)
                    for key, value in given.items():
                        yield from self._entry(project, module, key, value)

    def _entry(self, project: Project, module: ModuleFacts, key: str, value: ast.expr) -> Iterator[Finding]:
        plain = value.value if isinstance(value, ast.Constant) else None
        if key not in _DEFAULTS or plain is None or plain == _DEFAULTS[key]:
            return
        option = key.replace("_", "-")
        if re.search(rf"args\.{key}\s*=[^=]|--{option}\b", module.text):
            return
        said = _parser_line(project, option)
        yield self.finding(
            place_of(module, value),
            evidence=(Evidence(*said, tr("the parser has a default")),) if said is not None else (),
            key=key,
            option=option,
            value=plain,
            default=_DEFAULTS[key],
        )


def _defaults(node: ast.AST, scope: Scope) -> dict[str, ast.expr]:
    if not isinstance(node, ast.Call) or last_name(node.func) not in _CALLS:
        return {}
    given = next((word.value for word in node.keywords if word.arg == "args_defaults"), None)
    if isinstance(given, ast.Name):
        given = scope.value(given.id)
    if not isinstance(given, ast.Dict):
        return {}
    return {
        key.value: value
        for key, value in zip(given.keys, given.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }


def _parser_line(project: Project, option: str) -> tuple[str, int] | None:
    """Where a copy of the framework in the tree adds the option."""
    for module in project.modules:
        if project.is_framework(module) and f"'--{option}'" in module.text:
            number = next(i for i, line in enumerate(module.lines, 1) if f"'--{option}'" in line)
            return module.display, number
    return None
