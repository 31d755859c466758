"""E7754"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..finding import Evidence, Finding, Fix
from ..language import tr
from ..rule import Rule, Symptom
from ..spmd.frames import Frame, functions
from ..spmd.instances import class_of
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_WRAPS = re.compile(r"DistributedDataParallel|\bDDP\b|FullyShardedDataParallel|\bFSDP\b")
_LAYERS = re.compile(r"\b(Column|Row)Parallel(Linear|GELU)\(|\bVocabParallelEmbedding\(")


_TORCH = re.compile(
    r"torch\.nn\.parallel\.(\w+\.)?DistributedDataParallel|torch\.distributed\.fsdp\.(\w+\.)?FullyShardedDataParallel"
)


class WrappedOverAllRanks(Rule):
    """A model with tensor-parallel layers is wrapped by torch's DDP over all ranks."""

    code, symbol = "E7754", "wrapped-over-all-ranks"
    message = (
        "`%(call)s` averages gradients over all ranks, but those of one tensor-parallel group hold other shards of "
        "`%(model)s`"
    )
    advice = "Give the group of the replicas: `process_group=parallel_state.get_data_parallel_group()`."
    why = (
        "Without `process_group` DistributedDataParallel takes the default group. It copies the parameters of rank 0 "
        "to all ranks, and averages gradients of different shards."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "All tensor-parallel ranks hold the shard of rank 0 from the first step on; nothing fails."
    limits = "Where the wrapped object is of a class that is seen to build parallel layers, itself or in one it names."
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "Where the script reduces gradients over other groups itself, the wrapper may be meant for another use."

    bad = """
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel


    class Net(nn.Module):
        def __init__(self, config):
            super().__init__()
            self.up = ColumnParallelLinear(8, 32, config=config, init_method=config.init_method)

        def forward(self, x):
            return self.up(x)[0]


    def build(config):
        return DistributedDataParallel(Net(config).cuda())  # [wrapped-over-all-ranks]
    """
    good = """
    from megatron.core import parallel_state
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel


    class Net(nn.Module):
        def __init__(self, config):
            super().__init__()
            self.up = ColumnParallelLinear(8, 32, config=config, init_method=config.init_method)

        def forward(self, x):
            return self.up(x)[0]


    def build(config):
        group = parallel_state.get_data_parallel_group()
        return DistributedDataParallel(Net(config).cuda(), process_group=group)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for frame in functions(analysis.project, _WRAPS):
            for call in frame.scope.calls:
                if not call.args or not _TORCH.fullmatch(frame.external(call.func)):
                    continue
                names = {keyword.arg for keyword in call.keywords}
                if names & {"process_group", "device_mesh", None} or len(call.args) > (
                    5 if frame.called(call.func).startswith("Distributed") else 1
                ):
                    continue
                cls = class_of(call.args[0], frame)
                holder = _holder(frame, cls) if cls is not None else None
                if cls is not None and holder is not None:
                    yield self.finding(
                        place_of(frame.module, call),
                        object=frame.function_name,
                        evidence=(
                            Evidence(
                                holder.module.display,
                                holder.node.lineno,
                                tr("`%(name)s` builds tensor-parallel layers", name=holder.name),
                            ),
                        ),
                        call=ast.unparse(call)[:80],
                        model=cls.name,
                        fix=_with_group(frame, call),
                    )


def _with_group(frame: Frame, call: ast.Call) -> Fix | None:
    """The group of the replicas, where the file has the module that knows it."""
    if "parallel_state" not in frame.module.bindings:
        return None
    group = ast.keyword(
        "process_group", ast.parse("parallel_state.get_data_parallel_group()", mode="eval").body
    )
    whole = ast.Call(call.func, call.args, [*call.keywords, group])
    return unsafe(replace(frame.module, call, ast.unparse(whole)))


def _holder(frame: Frame, cls: ClassFacts) -> ClassFacts | None:
    """The class that builds the parallel layers: this one, a base of it, or one that they name."""
    own = [entry for entry in frame.project.mro(cls) if isinstance(entry, ClassFacts)]
    for entry in own:
        if _LAYERS.search(entry.text):
            return entry
        for word in set(re.findall(r"\b[A-Z]\w+", entry.text)):
            inner = frame.project.resolve(entry.module, word)
            if isinstance(inner, ClassFacts) and _LAYERS.search(inner.text):
                return inner
    return None
