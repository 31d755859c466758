"""E7240"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import is_none
from ..finding import Finding
from ..project.scopes import assignments
from ..rule import Rule, Symptom
from ..spmd.axes import last_name
from ..spmd.conditions import condition
from ..spmd.frames import Frame, functions
from ..spmd.stage_paths import IS_FIRST, IS_LAST
from ..spmd.virtual_stages import STAGED
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_MEANT = {
    "pre_process": (IS_FIRST, "is_pipeline_first_stage"),
    "post_process": (IS_LAST, "is_pipeline_last_stage"),
}
_OTHER = {"pre_process": IS_LAST, "post_process": IS_FIRST}


def says_other_stage(frame: Frame, word: ast.keyword) -> bool:
    """Whether this rule speaks of a keyword."""
    return frame.module.says(STAGED) and any(
        StageFlagOfOtherStage()._check(frame, word.arg or "", word.value)
    )


class StageFlagOfOtherStage(Rule):
    """`pre_process` is asked of the last stage, `post_process` of the first, or either is turned round."""

    code, symbol = "E7240", "stage-flag-of-other-stage"
    message = (
        "`%(flag)s` is given `%(value)s`, which holds on another stage than the one that `%(flag)s` means"
    )
    advice = "Give it `%(right)s()`."
    why = (
        "`pre_process` builds and runs the embedding on the first stage, `post_process` the head on the last. On other "
        "stages their parts meet values that they are not made for, and the ends go without."
    )
    symptom = Symptom.CRASH
    runtime = "A size mismatch in the loss, or an AttributeError; with one stage both hold and nothing shows."
    limits = (
        "Only where the value is a plain question about the first or last stage. Silent for a chunk of a written "
        "number (`vp_stage=1`): where the chunks run there and back, the first rank holds the last stage."
    )
    fix_kind = "unsafe"
    fix_note = "Whether the flag or the name of the argument is wrong is for a reader to say."
    guide = "beyond the guide; 1.1 gives each stage its part"

    bad = """
    from megatron.core import parallel_state


    def model_provider(build):
        return build(
            pre_process=parallel_state.is_pipeline_first_stage(),
            post_process=parallel_state.is_pipeline_first_stage(),  # [stage-flag-of-other-stage]
        )
    """
    good = """
    from megatron.core import parallel_state


    def model_provider(build):
        return build(
            pre_process=parallel_state.is_pipeline_first_stage(),
            post_process=parallel_state.is_pipeline_last_stage(),
        )
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, STAGED):
            for node in frame.scope.nodes:
                if isinstance(node, ast.Call):
                    yield from self._ignored(frame, node)
                if isinstance(node, ast.Call) and not _is_fixed_chunk(node):
                    for word in node.keywords:
                        yield from self._check(frame, word.arg or "", word.value)
                if isinstance(node, ast.Dict):
                    for key, value in zip(node.keys, node.values, strict=True):
                        if isinstance(key, ast.Constant):
                            yield from self._check(frame, str(key.value), value)
                for target, value in assignments(node):
                    yield from self._check(frame, ast.unparse(target).removeprefix("self."), value)

    def _ignored(self, frame: Frame, node: ast.Call) -> Iterator[Finding]:
        """`is_pipeline_first_stage(ignore_virtual=True, vp_stage=stage)`."""
        given = {word.arg: word.value for word in node.keywords}
        ignored, stage = given.get("ignore_virtual"), given.get("vp_stage")
        if last_name(node.func) not in ("is_pipeline_first_stage", "is_pipeline_last_stage"):
            return
        if (
            isinstance(ignored, ast.Constant)
            and ignored.value is True
            and stage is not None
            and not is_none(stage)
        ):
            yield self.finding(
                place_of(frame.module, node),
                object=last_name(node.func),
                message="`%(value)s` is given `%(stage)s` and told to ignore it: it holds for all chunks of the rank",
                advice="Write `ignore_virtual=False`.",
                fix=unsafe(replace(frame.module, ignored, "False")),
                value=ast.unparse(node),
                stage=ast.unparse(stage),
            )

    def _check(self, frame: Frame, flag: str, value: ast.expr) -> Iterator[Finding]:
        if flag not in _MEANT or not any(isinstance(part, ast.Call) for part in ast.walk(value)):
            return
        meant, right = _MEANT[flag]
        if condition(value, frame) in (_OTHER[flag], ("not", (meant,))):
            fix = None
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
                fix = unsafe(replace(frame.module, value.func, f"{ast.unparse(value.func.value)}.{right}"))
            yield self.finding(
                place_of(frame.module, value),
                object=flag,
                fix=fix,
                flag=flag,
                value=ast.unparse(value),
                right=right,
            )


def _is_fixed_chunk(call: ast.Call) -> bool:
    """`provider(post_process=is_first_stage(), vp_stage=1)`: chunks that run there and back end on the first rank."""
    return any(word.arg == "vp_stage" and isinstance(word.value, ast.Constant) for word in call.keywords)
