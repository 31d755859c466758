"""E7767"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import as_code
from ..finding import Finding
from ..project.scopes import assignments
from ..rule import Rule, Symptom
from ..spmd.axes import last_name
from ..spmd.frames import Frame, functions
from ..spmd.names import CP, DP, GROUP, PP, RANK, SIZE, TP, Axes, lookup, text_of
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_ASKS = re.compile(r"get_\w+_(rank|group|size)\(|\.(tensor|pipeline)_model_parallel_size\b")
_KINDS = {"group": GROUP, "rank": RANK, "size": SIZE, "world_size": SIZE}
_NAMED: tuple[tuple[str, Axes, str], ...] = (
    ("tp|tensor_parallel|tensor_model_parallel", TP, "tensor_model_parallel"),
    ("pp|pipeline_parallel|pipeline_model_parallel", PP, "pipeline_model_parallel"),
    ("dp|data_parallel", DP, "data_parallel"),
    ("cp|context_parallel", CP, "context_parallel"),
)
"""Names of groups, ranks and sizes, and the function that Megatron has for them."""

_OWN = re.compile(rf"get_({'|'.join(function for *_, function in _NAMED)})_(rank|group|world_size)")


class NamedForOtherAxis(Rule):
    """A group, rank or size that is named for one axis is that of another."""

    code, symbol = "E7767", "named-for-other-axis"
    message = "`%(name)s` is given `%(value)s`, which is of the %(axes)s ranks"
    advice = "Give it `%(typed)s`."
    why = "Who reads the name takes it at its word: it cuts, sums, saves or counts along the axis that the name says."
    symptom = Symptom.WRONG_NUMBERS
    runtime = "nothing fails where both groups have one size; else parts of other ranks are summed, saved or left out"
    limits = "Where the name says one axis, and Megatron's own function or field for it has another one in its name."
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "The name may be the wrong one of the two."

    bad = """
    from megatron.core import parallel_state
    from megatron.core.transformer.utils import make_sharded_tensors_for_checkpoint


    def sharded(state, prefix, axes):
        return make_sharded_tensors_for_checkpoint(
            state,
            prefix,
            axes,
            tp_group=parallel_state.get_data_parallel_group(),  # [named-for-other-axis]
        )
    """
    good = bad.replace(
        "get_data_parallel_group(),  # [named-for-other-axis]", "get_tensor_model_parallel_group(),"
    )

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _ASKS):
            for node in frame.scope.nodes:
                if isinstance(node, ast.Call):
                    for word in node.keywords:
                        yield from self._of(frame, word.arg or "", word.value)
                for target, value in assignments(node):
                    yield from self._of(frame, as_code(target).removeprefix("self."), value)

    def _of(self, frame: Frame, name: str, value: ast.expr) -> Iterator[Finding]:
        if isinstance(value, ast.Attribute):
            yield from self._of_field(frame, name, value)
        if not isinstance(value, ast.Call) or value.args or value.keywords:
            return
        asked = last_name(value.func)
        for words, axis, function in _NAMED:
            match = re.fullmatch(rf"_?(?:{words})_(group|rank|size|world_size)", name)
            found = lookup(_KINDS[match[1]], asked) if match is not None else None
            if match is None or found is None or len(found) != 1 or found & axis:
                continue
            if not _OWN.fullmatch(asked):  # a project may take the ranks of one axis for another, and say so
                continue
            right = f"get_{function}_{'world_size' if 'size' in match[1] else match[1]}"
            typed = as_code(value).replace(asked, right)
            yield self.finding(
                place_of(frame.module, value),
                object=name,
                fix=unsafe(replace(frame.module, value, typed)),
                name=name,
                value=as_code(value),
                axes=text_of(found),
                typed=typed,
            )

    def _of_field(self, frame: Frame, name: str, value: ast.Attribute) -> Iterator[Finding]:
        """`tp_size = config.pipeline_model_parallel_size`."""
        meant, given = _axis_of(name), _axis_of(value.attr)
        if meant is None or given is None or meant[0] == given[0] or meant[2] != given[2]:
            return
        if given[1] not in _LIKE:
            return
        typed = f"{as_code(value.value)}.{value.attr.replace(given[1], _LIKE[given[1]][meant[0]])}"
        yield self.finding(
            place_of(frame.module, value),
            object=name,
            fix=unsafe(replace(frame.module, value, typed)),
            name=name,
            value=as_code(value),
            axes=given[0],
            typed=typed,
        )


_LIKE = {
    "tensor_model_parallel": {
        "pp": "pipeline_model_parallel",
        "cp": "context_parallel",
        "dp": "data_parallel",
    },
    "pipeline_model_parallel": {
        "tp": "tensor_model_parallel",
        "cp": "context_parallel",
        "dp": "data_parallel",
    },
}
"""Fields of Megatron's configuration, and those of the other axes."""


def _axis_of(name: str) -> tuple[str, str, str] | None:
    """The axis that a name says, the words that say it, and what it is: a rank or a size."""
    for words, axis, _ in _NAMED:
        match = re.fullmatch(rf"_?({words})_(rank|size|world_size)", name)
        if match is not None:
            return next(iter(axis)), match[1], match[2].removeprefix("world_")
    return None
