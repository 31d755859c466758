"""W7543"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import walk
from ..finding import Evidence, Finding
from ..language import tr
from ..project.config_reads import Configs
from ..project.project import dotted_name
from ..project.scopes import Scope
from ..project.training import Training
from ..rule import Rule, Symptom
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_NAME = re.compile(r"(\w+_)?batch_size")
_JOINS = frozenset(("cat", "concat", "concatenate", "stack", "hstack"))
_REPEATS = frozenset(("repeat", "expand", "tile", "repeat_interleave"))


class BatchSizeOfFile(Rule):
    """A constant is repeated to the batch size of a YAML file, the data come in micro-batches of the command line."""

    code, symbol = "W7543", "batch-size-of-file"
    message = (
        "`%(name)s` has `%(size)s` samples, by a YAML file; the micro-batch that it is joined with has as many as "
        "`--micro-batch-size` says"
    )
    advice = "Repeat it as often as the data have samples: `%(data)s.shape[0]` in place of `%(size)s`."
    why = (
        "Megatron builds the loaders of a dataset itself, with the batch size of its command line. A number in a YAML "
        "file is another setting, which nothing holds equal."
    )
    symptom = Symptom.TRAP
    runtime = (
        "RuntimeError: Sizes of tensors must match except in dimension 1, at the first other micro-batch size"
    )
    limits = (
        "In the training step, for what is joined with the data that the step reads. Silent where the script brings "
        "its own loaders (`external`), and where anything compares the two sizes."
    )
    guide = "beyond the guide; 3.2 describes forward_step"
    fix_kind = "unsafe"
    fix_note = "The number of samples is that of the data from then on."

    bad = """
    import torch
    from functools import partial
    from losses import l2_loss
    from megatron.training import pretrain
    from onescience.utils.fcn.YParams import YParams

    MASK = torch.ones(3, 24, 48)
    cfg = YParams("conf/config.yaml", "datapipe")


    def forward_step(data_iterator, model):
        field, label = next(data_iterator)
        mask = MASK.unsqueeze(0).repeat(cfg.dataloader.batch_size, 1, 1, 1)  # [batch-size-of-file]
        return model(torch.cat([field.float(), mask.cuda()], dim=1)), partial(l2_loss, label.float())
    """
    good = """
    import torch
    from functools import partial
    from losses import l2_loss
    from megatron.training import pretrain
    from onescience.utils.fcn.YParams import YParams

    MASK = torch.ones(3, 24, 48)
    cfg = YParams("conf/config.yaml", "datapipe")


    def forward_step(data_iterator, model):
        field, label = next(data_iterator)
        mask = MASK.unsqueeze(0).repeat(field.shape[0], 1, 1, 1)
        return model(torch.cat([field.float(), mask.cuda()], dim=1)), partial(l2_loss, label.float())
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            if re.search(r"""['"]external['"]|\bmicro_batch_size\b""", script.module.text):
                continue
            configs = Configs(script)
            for step in script.forward_steps:
                read = _read(step)
                for name, size in _repeated(step):
                    data = _joined_with(step, name, read)
                    if data is None or not _is_of_file(configs, size, step):
                        continue
                    yield self.finding(
                        place_of(step.module, size),
                        object=step.function.name if step.function is not None else "",
                        evidence=(
                            Evidence(
                                step.module.display,
                                data[1].lineno,
                                tr("`%(name)s` is joined with `%(data)s` here", name=name, data=data[0]),
                            ),
                        ),
                        fix=unsafe(replace(step.module, size, f"{data[0]}.shape[0]")),
                        name=name,
                        size=ast.unparse(size),
                        data=data[0],
                    )


def _is_of_file(configs: Configs, size: ast.expr, step: Scope) -> bool:
    root = (dotted_name(size) or "").split(".")[0]
    bound = step.value(root)
    return configs.source(size, step) is not None or (
        isinstance(bound, ast.Call) and (dotted_name(bound.func) or "").rsplit(".", 1)[-1] == "YParams"
    )


def _read(step: Scope) -> set[str]:
    """Names that hold data of the iterator, and what is made of them."""
    held: set[str] = set()
    for node in step.nodes:
        if isinstance(node, ast.Assign):
            is_read = any(
                isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "next"
                for part in walk(node.value)
            )
            if is_read or held & _names(node.value):
                held |= {
                    part.id for target in node.targets for part in walk(target) if isinstance(part, ast.Name)
                }
    return held


def _repeated(step: Scope) -> Iterator[tuple[str, ast.Attribute]]:
    """`name = ….repeat(config.batch_size, …)`: the name and the size."""
    for node in step.nodes:
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        for part in walk(node.value):
            if (
                isinstance(part, ast.Call)
                and isinstance(part.func, ast.Attribute)
                and part.func.attr in _REPEATS
                and part.args
                and isinstance(part.args[0], ast.Attribute)
                and _NAME.fullmatch(part.args[0].attr)
            ):
                yield node.targets[0].id, part.args[0]


def _joined_with(step: Scope, name: str, read: set[str]) -> tuple[str, ast.Call] | None:
    """What of the data a name is concatenated with, and where."""
    for node in step.nodes:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _JOINS
            and node.args
        ):
            parts = node.args[0].elts if isinstance(node.args[0], ast.List | ast.Tuple) else []
            others = [found for part in parts for found in sorted(_names(part) & (read - {name}))]
            if others and any(name in _names(part) for part in parts):
                return others[0], node
    return None


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in walk(node) if isinstance(part, ast.Name)}
