"""W7544"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from ..files import disk
from ..finding import Finding, Fix
from ..project.training import TrainingScript
from ..rule import Rule, Symptom
from ..spmd.called import Called, calls_of, training_steps
from ..spmd.writes import path_written
from ..tpstate.fixes import lines_before, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_MAKES = re.compile(r"\bmakedirs\b|\bmkdir\b|\bensure_dir|\bcopytree\b")


class OutputFolderMissing(Rule):
    """A training or test step writes into a folder that nothing creates."""

    code, symbol = "W7544", "output-folder-missing"
    message = (
        "`%(call)s` writes into `%(folder)s/`, which neither the script nor a shell script beside it creates"
    )
    advice = 'Create it before the run: `os.makedirs("%(folder)s", exist_ok=True)`.'
    why = "The file functions do not create folders. The run comes to the first result, and ends there."
    symptom = Symptom.CRASH
    runtime = "FileNotFoundError: [Errno 2] No such file or directory, after the first forward pass"
    limits = (
        "Relative folders that are written out, in what the step and its loss call. Silent where one of those files, "
        "or a shell script beside the training script, creates folders."
    )
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "It makes a folder where there was none."

    bad = """
    from functools import partial
    import os
    import numpy as np
    from megatron.training import pretrain


    def loss_func(label, output):
        np.save("result/field.npy", output.cpu().numpy())  # [output-folder-missing]
        loss = (output - label).abs().mean()
        return loss, {"l1": loss.detach()}


    def forward_step(data_iterator, model):
        field, label = next(data_iterator)
        return model(field), partial(loss_func, label)
    """
    good = """
    from functools import partial
    import os
    import numpy as np
    from megatron.training import pretrain


    def loss_func(label, output):
        os.makedirs("result", exist_ok=True)
        np.save("result/field.npy", output.cpu().numpy())
        loss = (output - label).abs().mean()
        return loss, {"l1": loss.detach()}


    def forward_step(data_iterator, model):
        field, label = next(data_iterator)
        return model(field), partial(loss_func, label)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        seen: set[int] = set()
        for script, step in training_steps(analysis.project):
            for call in calls_of(step):
                path = path_written(call)
                folder = _folder(path) if path is not None and id(call.node) not in seen else ""
                if not folder or disk.exists(script.module.path.parent / folder):
                    continue
                seen.add(id(call.node))
                texts = (script.module.text, *(frame.module.text for frame in call.through), *_shell(script))
                if not any(_MAKES.search(text) for text in texts):
                    function = call.frame.scope.function
                    yield self.finding(
                        place_of(call.frame.module, call.node),
                        object=function.name if function is not None else "",
                        fix=_made_first(call, folder),
                        call=ast.unparse(call.node.func),
                        folder=folder,
                    )


def _made_first(call: Called, folder: str) -> Fix | None:
    """The folder made in the line before, where the file has `os`."""
    if "os" not in call.frame.module.bindings:
        return None
    return unsafe(lines_before(call.frame.module, call.node, f'os.makedirs("{folder}", exist_ok=True)'))


def _folder(path: ast.expr) -> str:
    """The folder that a path names in plain text, before anything that is filled in."""
    first = path.values[0] if isinstance(path, ast.JoinedStr) and path.values else path
    text = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    folder = text.rpartition("/")[0]
    return "" if folder.startswith(("/", "~", "$", ".")) else folder


def _shell(script: TrainingScript) -> Iterator[str]:
    for path in disk.matching(script.module.path.parent, "*.sh"):
        with suppress(OSError):
            yield disk.read(path).decode(errors="replace")
