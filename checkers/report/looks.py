"""What the report looked at before it says yes: each function answers for one line of a checklist.

The answer is a text that counts what was seen, or `Unseen` with the reason why nothing, or not all of it, could be.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass

from ..project.boundary import Boundaries, StageFlow
from ..project.data_reads import data_reads
from ..project.loss_binding import loss_bindings
from ..project.project import FunctionRef
from ..project.stage_classes import class_text, hidden_base
from ..project.stages import Stage
from ..project.training import TrainingScript
from ..tpstate.events import ParallelCall
from ..tpstate.inputs import Verdict, judge
from ..tpstate.providers import ROW
from ..tpstate.values import Tensor
from .model import Mark
from .subjects import Subject
from .tables import Tables


@dataclass(frozen=True)
class Scene:
    """One model with the tables that were made of it."""

    subject: Subject
    tables: Tables

    def flow(self, stage: Stage) -> StageFlow:
        return self.subject.project.knowledge(Boundaries).of(stage)


_FLOAT = re.compile(r"\.float\(\)|float32")


class Unseen(Exception):
    """Nothing, or not all, could be looked at; the text says why."""


Look = Callable[[Scene], str]


def stages(scene: Scene) -> str:
    """All stages, with bases that can be seen."""
    hidden = [s.cls.name for s in scene.subject.family.stages if hidden_base(scene.subject.project, s.cls)]
    if hidden:
        raise Unseen(f"a base class of {', '.join(hidden)} is out of sight")
    return _count(len(_all(scene)), "stage")


def first_stage(scene: Scene) -> str:
    first = _all(scene)[0]
    if not first.is_first or first.rank:
        raise Unseen("which stage is the first is not known")
    _returns(scene, first)
    return first.cls.name


def later_stages(scene: Scene) -> str:
    """What every later stage does with the received tensors."""
    found = _ordered(scene)[1:]
    for stage in found:
        flow = scene.flow(stage)
        if flow.receiving is None or not flow.reads_input:
            raise Unseen(f"what {stage.cls.name} receives could not be followed")
    return _count(len(found), "later stage")


def middle_stages(scene: Scene) -> str:
    found = _ordered(scene)[1:-1]
    for stage in found:
        if scene.flow(stage).unpacked() is None:
            raise Unseen(f"what {stage.cls.name} unpacks could not be followed")
        _returns(scene, stage)
    return _count(len(found), "middle stage") if found else "there is no middle stage"


def last_stage(scene: Scene) -> str:
    last = _ordered(scene)[-1]
    _returns(scene, last)
    return last.cls.name


def sending_stages(scene: Scene) -> str:
    """What every stage but the last returns."""
    found = _ordered(scene)[:-1]
    for stage in found:
        _returns(scene, stage)
    tensors = len(scene.tables.boundaries.rows)
    return f"{_count(tensors, 'tensor')} over {_count(len(found), 'boundary')}"


def received_tensors(scene: Scene) -> str:
    """Whether every tensor that crosses gets a gradient."""
    said = sending_stages(scene)
    unknown = [row for row in scene.tables.boundaries.rows if row.gradient is Mark.OPEN]
    if unknown:
        raise Unseen(f"{unknown[0].name} of boundary {unknown[0].boundary}: {unknown[0].gradient_note}")
    return said


def forwards(scene: Scene) -> str:
    found = _all(scene)
    for stage in found:
        _returns(scene, stage)
    return f"the forward of {_count(len(found), 'stage')}"


def drop_path(scene: Scene) -> str:
    table = scene.tables.drop_path
    if table.is_unused:
        return "no layer is given rates, here or in the original model"
    unknown = [row for row in table.rows if row.mark is Mark.OPEN]
    if not table.rows or unknown:
        raise Unseen((table.notes or ("the rates are known at run time only",))[0] if not unknown else
                     f"the rates of {unknown[0].stage}.{unknown[0].layer} could not be compared")  # fmt: skip
    return f"{_count(len(table.rows), 'stack')} of blocks, as in the original model"


def balance(scene: Scene) -> str:
    table = scene.tables.balance
    if not table.method:
        raise Unseen((table.notes or ("the work is known at run time only",))[0])
    return f"by {table.method}"


def original(scene: Scene) -> str:
    if scene.subject.original is None:
        raise Unseen("the original model was not found")
    return f"compared with {scene.subject.original.module.display}"


def original_depths(scene: Scene) -> str:
    said, table = original(scene), scene.tables.drop_path
    if table.total is None or table.original_total is None:
        raise Unseen("the number of blocks is known at run time only")
    return f"{table.total} blocks; {said}"


# -- tensor parallel ---------------------------------------------------------------------------------------------


def parallel_layers(scene: Scene) -> str:
    found = {m.site.key for m in scene.subject.tree.modules() if m.kind == "parallel" and m.site is not None}
    if not found:
        raise Unseen("no parallel layer was found below the stages")
    return _count(len(found), "parallel layer")


def chain(scene: Scene) -> str:
    """Every module from the stages down to the last layer."""
    said, unresolved = parallel_layers(scene), scene.subject.tree.unresolved
    places = dict.fromkeys(
        (m.name, m.site.module.display, m.site.node.lineno) for m in unresolved if m.site is not None
    )
    if places:
        name, path, line = next(iter(places))
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        raise Unseen(f"what `{name}` is ({path}:{line}){more} could not be resolved")
    return f"{said}, every module on the way resolved"


def attention(scene: Scene) -> str:
    """Every attention module."""
    said = chain(scene)
    found = {
        id(m.cls or m.dotted)
        for m in scene.subject.tree.modules()
        if "Attention" in m.dotted.rsplit(".", 1)[-1]
    }
    return f"{_count(len(found), 'attention module')}; {said}" if found else f"no attention module; {said}"


def windows(scene: Scene) -> str:
    """Every file of the modules, and of the functions they import, that rolls a tensor."""
    chain(scene)
    project = scene.subject.project
    files = {cls.module.path: cls.module for cls in scene.subject.classes.values()}
    for module in list(files.values()):
        refs = (project.resolve(module, name) for name in module.bindings)
        files.update({ref.module.path: ref.module for ref in refs if isinstance(ref, FunctionRef)})
    found = [
        module for module in files.values() if ".roll(" in module.text and not project.is_framework(module)
    ]
    return (
        f"{_count(len(found), 'file')} that roll windows"
        if found
        else f"none of {len(files)} files rolls a window"
    )


def heads(scene: Scene) -> str:
    """Every class that takes head counts."""
    chain(scene)
    found = [cls.name for cls in scene.subject.classes.values() if "num_heads" in class_text(cls)]
    sizes = scene.subject.project.settings.tp
    said = f"for sizes {', '.join(map(str, sizes))}" if sizes else "checked where the model is built"
    return f"{_count(len(found), 'class')} with heads, {said}" if found else "no class has attention heads"


def row_inputs(scene: Scene) -> str:
    """The inputs of all row-parallel layers."""
    parallel_layers(scene)
    calls = _row_calls(scene)
    if not calls:
        raise Unseen("no call of a RowParallelLinear was followed")
    open_calls = [key for key, events in calls.items() if all(judge(e) is Verdict.UNKNOWN for e in events)]
    if open_calls:
        path, line, _ = open_calls[0]
        raise Unseen(
            f"{len(open_calls)} of {len(calls)} RowParallelLinear inputs could not be decided ({path}:{line})"
        )
    return f"the inputs of {_count(len(calls), 'RowParallelLinear call')}, all decided"


def concatenated_inputs(scene: Scene) -> str:
    row_inputs(scene)
    found = [k for k, events in _row_calls(scene).items() if any(_is_joined(e) for e in events)]
    return f"RowParallelLinear calls that get a concatenation: {len(found)}"


def _is_joined(event: ParallelCall) -> bool:
    return isinstance(event.given, Tensor) and "cat" in event.given.role


def _row_calls(scene: Scene) -> dict[tuple[str, int, int], list[ParallelCall]]:
    paths = {cls.module.display for cls in scene.subject.classes.values()}
    found: dict[tuple[str, int, int], list[ParallelCall]] = {}
    for event in scene.subject.analysis.log.events:
        if isinstance(event, ParallelCall) and event.row.kind == ROW and event.site.module.display in paths:
            if event.owner is None or id(event.owner) in scene.subject.classes:
                found.setdefault(event.site.key, []).append(event)
    return found


def distributed_modules(scene: Scene) -> str:
    if not scene.tables.registries:
        raise Unseen("no distributed module was found below the stages")
    return _count(len(scene.tables.registries), "distributed module")


def counterparts(scene: Scene) -> str:
    said = f"{distributed_modules(scene)}, {original(scene)}"
    unknown = [row for row in scene.tables.files if row.mark is Mark.OPEN]
    if unknown:
        raise Unseen(f"{unknown[0].original}: {unknown[0].note}")
    return said


# -- training script ---------------------------------------------------------------------------------------------


def scripts(scene: Scene) -> str:
    return _count(len(_scripts(scene)), "training script")


def pretrain(scene: Scene) -> str:
    for script in _scripts(scene):
        if script.pretrain is None:
            raise Unseen(f"{script.module.display} does not call pretrain, or calls it more than once")
        if script.pretrain.is_open:
            raise Unseen(f"{script.module.display} hides arguments of pretrain behind * or **")
    return "the call of pretrain"


def dataset_provider(scene: Scene) -> str:
    pretrain(scene)
    for script in _scripts(scene):
        provider = script.handed("train_valid_test_dataset_provider")
        if provider is None or not any(isinstance(n, ast.Return) for n in provider.nodes):
            raise Unseen(f"the dataset provider of {script.module.display} could not be followed")
    return "the dataset provider"


def forward_step(scene: Scene) -> str:
    for script in _scripts(scene):
        if not script.forward_steps:
            raise Unseen(f"no forward step was found in {script.module.display}")
    return "the forward step"


def loss(scene: Scene) -> str:
    """The function beside the output, followed to its return."""
    forward_step(scene)
    for script in _scripts(scene):
        for step in script.forward_steps:
            found = [binding for binding in loss_bindings(script, step) if binding.loss is not None]
            if not found:
                raise Unseen(f"the loss function of {script.module.display} could not be followed")
    return "the loss function"


def float_data(scene: Scene) -> str:
    """Reads of data with a conversion in their script."""
    said = data_read(scene)
    for script in _scripts(scene):
        if not _FLOAT.search(script.module.text):
            raise Unseen(f"no conversion to float32 was seen in {script.module.display}")
    return said


def recomputed(scene: Scene) -> str:
    """Calls that a forward wraps in a checkpoint."""
    forwards(scene)
    found = [
        {name for trace in scene.flow(stage).traces for name in trace.checkpointed} for stage in _all(scene)
    ]
    count = sum(map(len, found))
    if not count:
        raise Unseen("no call of a fuser or transformer, and no checkpoint, was seen in the forwards")
    return f"{_count(count, 'call')} through a checkpoint"


def data_read(scene: Scene) -> str:
    forward_step(scene)
    reads = [
        read
        for script in _scripts(scene)
        for step in script.forward_steps
        for read in data_reads(script, step)
    ]
    if not reads:
        raise Unseen("no next(data_iterator) was found in the forward step")
    return _count(len(reads), "read") + " of the data iterator"


def model_provider(scene: Scene) -> str:
    pretrain(scene)
    for script in _scripts(scene):
        if script.handed("model_provider") is None:
            raise Unseen(f"the model provider of {script.module.display} could not be followed")
    return "the model provider and the imports"


def stage_shapes(scene: Scene) -> str:
    _scripts(scene)
    table = scene.tables.boundaries
    if not table.rows:
        raise Unseen((table.notes or ("nothing that crosses a boundary is known",))[0])
    unknown = [row for row in table.rows if row.mark is Mark.OPEN]
    if unknown:
        first = unknown[0]
        raise Unseen(
            f"{len(unknown)} of {len(table.rows)} tensors; {first.name} of {first.boundary}: {first.note}"
        )
    return f"{_count(len(table.rows), 'tensor')} compared with what the stages build"


def stage_map(scene: Scene) -> str:
    for script in _scripts(scene):
        if script.stage_map is None:
            raise Unseen(f"{script.module.display} has no one {{rank: class}} map")
    return "the stage map"


def yaml_files(scene: Scene) -> str:
    _scripts(scene)
    loads = scene.subject.configs
    broken = [load for load in loads if load.problem]
    if broken:
        name = broken[0].file.path.name if broken[0].file is not None else "a YAML file"
        raise Unseen(f"{name}: {broken[0].problem}")
    return _count(len(loads), "YAML section") if loads else "the script loads no YAML file"


def _scripts(scene: Scene) -> list[TrainingScript]:
    if not scene.subject.scripts:
        raise Unseen("no training script of this model was found")
    return scene.subject.scripts


def _all(scene: Scene) -> list[Stage]:
    return scene.subject.family.stages


def _ordered(scene: Scene) -> list[Stage]:
    family = scene.subject.family
    if not family.ordered:
        raise Unseen("the order of the stages is decided at run time")
    if family.gaps or family.stages[0].rank:
        raise Unseen("a stage is missing")
    return family.stages


def _returns(scene: Scene, stage: Stage) -> None:
    """Make sure that what a stage returns was followed."""
    if not any(trace.returns for trace in scene.flow(stage).traces):
        raise Unseen(f"the forward of {stage.cls.name} could not be followed")


def _count(number: int, noun: str) -> str:
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"1 {noun}" if number == 1 else f"{number} {plural}"
