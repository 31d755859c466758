"""E7504"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..finding import Finding
from ..language import tr
from ..project.project import Project, dotted_name
from ..project.stage_maps import StageMap
from ..project.stages import Stages
from ..project.training import Training, TrainingScript
from ..rule import Rule, Symptom
from ..spmd.axes import varies
from ..spmd.frames import module_functions
from ..spmd.names import PP, Axes, text_of
from ..tpstate.events import Site
from ..tpstate.verdicts import at, place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


_NUMBER = re.compile(r"(\d+)(?=\D*$)")


class StageMapIncomplete(Rule):
    """The map from pipeline rank to stage class lacks a rank, repeats one, names no stage or is asked wrongly."""

    code, symbol = "E7504", "stage-map-incomplete"
    message = "the stage map %(problem)s"
    advice = "Write one entry for every rank from 0 to %(last)d, each with a stage class."
    why = "Every pipeline rank looks up its own class; the one that is missing fails while the others wait for it."
    symptom = Symptom.CRASH
    runtime = "KeyError: 2, or ValueError: Unsupported pipeline rank 2, on one rank; the others hang in init"
    limits = "Silent where the number of stages or a class cannot be seen."
    guide = "3.1 model_provider"

    bad = """
    from megatron.core import mpu
    from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
    from torch import nn


    class Net_stage0(nn.Module):
        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor


    class Net_stage1(Net_stage0):
        pass


    def model_provider(pre_process=False, post_process=True):
        stages = {0: Net_stage0, 1: Net_stage1}  # [stage-map-incomplete]
        shapes = PipelineTensorShapeConfig(num_stages=3, stage_shapes=[[[1, 96, 32]], [[1, 96, 32]]])
        return stages[mpu.get_pipeline_model_parallel_rank()](), shapes
    """
    good = """
    from megatron.core import mpu
    from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig
    from torch import nn


    class Net_stage0(nn.Module):
        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor


    class Net_stage1(Net_stage0):
        pass


    def model_provider(pre_process=False, post_process=True):
        stages = {0: Net_stage0, 1: Net_stage1}
        shapes = PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[1, 96, 32]]])
        return stages[mpu.get_pipeline_model_parallel_rank()](), shapes
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for script in analysis.project.knowledge(Training):
            found = script.stage_map
            if found is None:
                continue
            count = script.num_stages if script.num_stages is not None else max(found.entries) + 1
            place = place_of(found.module, found.node)
            configs = script.shape_configs
            evidence = tuple(
                at(Site(script.module, config.node), tr("num_stages is %(count)s", count=count))
                for config in configs[:1]
            )
            missing = [rank for rank in range(count) if rank not in found.entries]
            extra = [rank for rank in found.entries if not 0 <= rank < count]
            if missing:
                text = tr(
                    "has no class for rank %(ranks)s of %(count)s stages",
                    ranks=", ".join(map(str, missing)),
                    count=count,
                )
                yield self.finding(place, evidence=evidence, problem=text, last=count - 1)
            elif extra:
                text = tr(
                    "has rank %(ranks)s, and there are %(count)s stages",
                    ranks=", ".join(map(str, extra)),
                    count=count,
                )
                yield self.finding(place, evidence=evidence, problem=text, last=count - 1)
            for rank, name in _no_stages(analysis.project, found):
                text = tr(
                    "gives rank %(rank)s `%(name)s`, which is no module with set_input_tensor",
                    rank=rank,
                    name=name,
                )
                yield self.finding(place, object=name, problem=text, last=count - 1)
            cut_off = () if missing else _cut_off(script, found)
            for text in (*_repeated(analysis.project, found), *_exchanged(found), *cut_off):
                yield self.finding(place, problem=text, last=count - 1)
            for key, axes in _asked_by_other_ranks(script, found):
                yield self.finding(
                    place_of(script.module, key),
                    problem=tr("is asked for the class of the %(axes)s rank", axes=text_of(axes)),
                    advice="Index it by the pipeline rank: `mpu.get_pipeline_model_parallel_rank()`.",
                )


def _repeated(project: Project, found: StageMap) -> Iterator[str]:
    """Ranks with the class of another rank, where the class numbered for them is in no entry."""
    first: dict[int, int] = {}
    mapped = {id(cls) for cls in found.entries.values()}
    for rank, cls in found.entries.items():
        if cls is None or first.setdefault(id(cls), rank) == rank:
            continue
        stage = project.knowledge(Stages).of(cls)
        own = stage.family.at(rank) if stage is not None else None
        if own is not None and id(own.cls) not in mapped:
            yield tr(
                "gives rank %(rank)s `%(cls)s`, the class of rank %(first)s; `%(other)s` has no rank",
                rank=rank,
                cls=cls.name,
                first=first[id(cls)],
                other=own.cls.name,
            )


def _cut_off(script: TrainingScript, found: StageMap) -> Iterator[str]:
    """The last stages of a family whose first ones are all mapped, where no other map names them."""
    family = script.family
    if family is None or len(family.maps) != 1 or family.gaps:
        return
    mapped = {id(cls) for cls in found.entries.values()}
    names = [stage.cls.name for stage in family.stages if id(stage.cls) not in mapped]
    first = [id(stage.cls) for stage in family.stages[: len(found.entries)]]
    if names and mapped == set(first):
        yield tr("ends before `%(names)s`", names="`, `".join(names))


def _exchanged(found: StageMap) -> Iterator[str]:
    """Classes that are numbered through, at ranks in another order."""
    names = {rank: cls.name for rank, cls in found.entries.items() if cls is not None}
    numbers = {
        rank: int(text[1]) for rank, name in names.items() if (text := _NUMBER.search(name)) is not None
    }
    stems = {_NUMBER.sub("", name) for name in names.values()}
    if (
        len(stems) != 1
        or numbers.keys() != found.entries.keys()
        or sorted(numbers) != list(range(len(numbers)))
    ):
        return
    first = min(numbers.values())
    if sorted(numbers.values()) != list(range(first, first + len(numbers))):
        return
    wrong = [rank for rank in sorted(numbers) if numbers[rank] - first != rank]
    if wrong:
        name = names[wrong[0]]
        yield tr(
            "gives rank %(rank)s `%(cls)s`, whose number is that of another rank", rank=wrong[0], cls=name
        )


def _asked_by_other_ranks(script: TrainingScript, found: StageMap) -> Iterator[tuple[ast.expr, Axes]]:
    """Where the map is asked for a rank of a group whose ranks all hold the same stage."""
    for frame in module_functions(script.project, script.module):
        for node in frame.scope.nodes:
            if node is found.node and isinstance(node, ast.If | ast.IfExp):
                left = node.test.left if isinstance(node.test, ast.Compare) else None
                axes = varies(left, frame) if left is not None else None
                if left is not None and axes and not axes & PP:
                    yield left, axes
                continue
            if isinstance(node, ast.Subscript):
                held, key = node.value, node.slice
            elif isinstance(node, ast.Call) and node.args and script.names(node.func, found):
                held, key = node.func, node.args[0]  # a function that chooses the class
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                held, key = node.func.value, node.args[0]
                if node.func.attr != "get":
                    continue
            else:
                continue
            values = [value for value, _ in frame.definitions(held)]
            is_asked = held is found.node or values == [found.node] or script.names(held, found)
            axes = varies(key, frame) if is_asked else None
            if axes and not axes & PP:
                yield key, axes


def _no_stages(project: Project, found: StageMap) -> Iterator[tuple[int, str]]:
    for rank, cls in found.entries.items():
        is_named_so = "stage" in (dotted_name(found.named[rank]) or "").lower()
        if cls is None or is_named_so or project.method(cls, "set_input_tensor") is not None:
            continue
        hidden = [
            base
            for base in project.mro(cls)
            if not isinstance(base, ClassFacts) and base.dotted != "torch.nn.Module"
        ]
        if not hidden or not project.is_module_class(cls):
            yield rank, cls.name
