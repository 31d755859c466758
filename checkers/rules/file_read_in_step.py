"""R7542"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..finding import Finding, joined
from ..language import tr
from ..project.project import dotted_name
from ..rule import Rule, Symptom
from ..spmd.axes import last_name
from ..spmd.called import Called, calls_of, training_steps
from ..spmd.frames import Frame
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_READS = re.compile(
    r"(numpy|torch|json|pickle|joblib)\.load|numpy\.(loadtxt|genfromtxt|fromfile|memmap)|yaml\.\w*load|h5py\.File"
    r"|xarray\.(open_\w+|load_\w+)|netCDF4\.Dataset|pandas\.read_\w+|omegaconf\.OmegaConf\.load|torchvision\.io\.read_\w+"
)
_OPENS = re.compile(r"\bopen\(|\bnp\.load\(|\byaml\.\w*load\(|h5py\.File\(")
_KEPT = re.compile(r"cache|lru|once|memo")


class FileReadInStep(Rule):
    """The step of a training script, or its loss, reads files that do not change."""

    code, symbol = "R7542", "file-read-in-step"
    message = "`%(call)s` reads a file in each micro-batch: `%(function)s` runs once for every one of them"
    advice = "Read it once, at module level or in the function that builds the model, and keep what it holds."
    why = (
        "The schedule calls the step for each micro-batch on every rank that runs it. What a file holds is opened, "
        "parsed and copied again each time, by all processes of a node at once."
    )
    symptom = Symptom.COST
    runtime = "The GPUs wait for the file system in each micro-batch."
    limits = (
        "Reads that the step or its loss make in any case, by themselves or in functions of the tree. Silent under a "
        "test for what is read already, and for functions that keep their result."
    )
    guide = "beyond the guide; 3.2 describes forward_step"

    bad = """
    from functools import partial
    import numpy as np
    import torch
    from losses import l2_loss
    from megatron.training import pretrain


    def forward_step(data_iterator, model):
        field, label = next(data_iterator)
        mask = torch.from_numpy(np.load("static/land_mask.npy"))  # [file-read-in-step]
        return model(field.float() * mask.cuda()), partial(l2_loss, label.float())
    """
    good = """
    from functools import partial
    import numpy as np
    import torch
    from losses import l2_loss
    from megatron.training import pretrain

    MASK = torch.from_numpy(np.load("static/land_mask.npy"))


    def forward_step(data_iterator, model):
        field, label = next(data_iterator)
        return model(field.float() * MASK.cuda()), partial(l2_loss, label.float())
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        by_function: dict[int, list[Finding]] = {}
        seen: set[int] = set()
        for _, step in training_steps(analysis.project):
            for call in calls_of(step):
                if id(call.node) in seen or not _is_read(call) or _is_kept(call):
                    continue
                seen.add(id(call.node))
                function = call.frame.scope.function
                found = self.finding(
                    place_of(call.frame.module, call.node),
                    object=function.name if function is not None else "",
                    call=ast.unparse(call.node)[:60],
                    function=step.scope.function.name if step.scope.function is not None else "",
                )
                by_function.setdefault(id(function), []).append(found)
        for findings in by_function.values():
            yield joined(findings, tr("this one is read each time, too"))


def _is_read(call: Called) -> bool:
    node, frame = call.node, call.frame
    if _READS.fullmatch(frame.external(node.func)):
        return True
    if isinstance(node.func, ast.Name) and node.func.id == "open" and frame.scope.owner_of("open") is None:
        mode = frame.argument(node, "mode", 1)
        return mode is None or (isinstance(mode, ast.Constant) and str(mode.value).startswith("r"))
    ref = frame.ref(node.func)
    if isinstance(ref, ClassFacts):
        made = frame.project.method(ref, "__init__")
        return made is not None and _OPENS.search(made[0].module.text_of(made[1])) is not None
    return last_name(node.func) == "YParams"


def _is_kept(call: Called) -> bool:
    """Whether a test asks for what was read before, or a function on the way keeps its result."""
    if any("None" in text or " in " in text for text in (ast.unparse(test) for test, _ in call.tests)):
        return True
    return any(_keeps(frame) for frame in call.through)


def _keeps(frame: Frame) -> bool:
    function = frame.scope.function
    return function is not None and (
        any(
            _KEPT.search(dotted_name(d.func if isinstance(d, ast.Call) else d) or "")
            for d in function.decorator_list
        )
        or any(isinstance(node, ast.Global) for node in frame.scope.nodes)
    )
