"""E7531"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding, Fix
from ..project.project import Project
from ..rule import Rule, Symptom
from ..spmd.frames import Frame, functions
from ..tpstate.fixes import insert_after, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_SIZE, _DTYPE = "pipeline_model_parallel_size", "pipeline_dtype"
_NAMED = re.compile(_SIZE)
_CONFIGS = ("TransformerConfig", "ModelParallelConfig", "MLATransformerConfig")


class PipelineDtypeMissing(Rule):
    """A Megatron configuration with pipeline stages does not say of which type the tensors between them are."""

    code, symbol = "E7531", "pipeline-dtype-missing"
    message = "`%(config)s` takes `pipeline_model_parallel_size=%(size)s` and no `pipeline_dtype`"
    advice = "Give it `pipeline_dtype=%(dtype)s`."
    why = "Megatron makes the receive buffers of the pipeline of this type, and refuses more than one stage without it."
    symptom = Symptom.CRASH
    runtime = "ValueError: When using pipeline parallelism, pipeline_dtype must be specified"
    limits = (
        "Only for Megatron-Core's own configuration classes, called with the size by name, and where nothing else in "
        "the file (or in the tree, where `**` hides arguments) speaks of `pipeline_dtype`."
    )
    fix_kind = "unsafe"
    fix_note = "The type is that of the parameters; mixed precision may want another."
    guide = "beyond the guide"

    bad = """
    import torch
    from megatron.core.transformer import TransformerConfig


    def make(stages):
        return TransformerConfig(  # [pipeline-dtype-missing]
            num_layers=8,
            hidden_size=64,
            num_attention_heads=4,
            pipeline_model_parallel_size=stages,
            params_dtype=torch.bfloat16,
        )
    """
    good = """
    import torch
    from megatron.core.transformer import TransformerConfig


    def make(stages):
        return TransformerConfig(
            num_layers=8,
            hidden_size=64,
            num_attention_heads=4,
            pipeline_model_parallel_size=stages,
            params_dtype=torch.bfloat16,
            pipeline_dtype=torch.bfloat16,
        )
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _NAMED):
            for node in frame.scope.calls:
                yield from self._check(analysis.project, frame, node)

    def _check(self, project: Project, frame: Frame, node: ast.Call) -> Iterator[Finding]:
        given = {word.arg: word.value for word in node.keywords}
        size = given.get(_SIZE)
        if size is None or _DTYPE in frame.module.text or len(node.args) > 3:
            return
        if isinstance(size, ast.Constant) and size.value in (None, 1):
            return
        name = frame.external(node.func)
        if not name.startswith("megatron.core.") or name.rsplit(".", 1)[-1] not in _CONFIGS:
            return
        if None in given and any(
            _DTYPE in module.text for module in project.modules if not project.is_framework(module)
        ):
            return
        params = given.get("params_dtype")
        dtype = ast.unparse(params) if params is not None else "torch.float32"
        fix: Fix | None = None
        if params is not None:
            fix = unsafe(insert_after(frame.module, params, f", {_DTYPE}={dtype}"))
        yield self.finding(
            place_of(frame.module, node),
            object=name.rsplit(".", 1)[-1],
            fix=fix,
            config=name.rsplit(".", 1)[-1],
            size=ast.unparse(size),
            dtype=dtype,
        )
