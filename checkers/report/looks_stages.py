"""What was looked at for the checklist of the stages."""

from __future__ import annotations

from ..project.stage_classes import hidden_base, megatron_base
from ..project.stages import Stage
from .looks import Scene, Unseen, count, original
from .model import Mark


def stages(scene: Scene) -> str:
    """All stages, with bases that can be seen."""
    hidden = [s.cls.name for s in scene.subject.family.stages if hidden_base(scene.subject.project, s.cls)]
    if hidden:
        raise Unseen(f"a base class of {', '.join(hidden)} is out of sight")
    return count(len(_all(scene)), "stage")


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
    return count(len(found), "later stage")


def middle_stages(scene: Scene) -> str:
    found = _ordered(scene)[1:-1]
    for stage in found:
        if scene.flow(stage).unpacked() is None:
            raise Unseen(f"what {stage.cls.name} unpacks could not be followed")
        _returns(scene, stage)
    return count(len(found), "middle stage") if found else "there is no middle stage"


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
    return f"{count(tensors, 'tensor')} over {count(len(found), 'boundary')}"


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
    return f"the forward of {count(len(found), 'stage')}"


def drop_path(scene: Scene) -> str:
    table = scene.tables.drop_path
    if table.is_unused:
        return "no layer is given rates, here or in the original model"
    unknown = [row for row in table.rows if row.mark is Mark.OPEN]
    if not table.rows or unknown:
        raise Unseen((table.notes or ("the rates are known at run time only",))[0] if not unknown else
                     f"the rates of {unknown[0].stage}.{unknown[0].layer} could not be compared")  # fmt: skip
    return f"{count(len(table.rows), 'stack')} of blocks, as in the original model"


def balance(scene: Scene) -> str:
    table = scene.tables.balance
    if not table.method:
        raise Unseen((table.notes or ("the work is known at run time only",))[0])
    return f"by {table.method}"


def original_depths(scene: Scene) -> str:
    said, table = original(scene), scene.tables.drop_path
    if table.total is None or table.original_total is None:
        raise Unseen("the number of blocks is known at run time only")
    return f"{table.total} blocks; {said}"


def compared(scene: Scene) -> str:
    """The pairs that could be held against each other: all of them."""
    original(scene)
    table = scene.tables.differences
    if not table.compared or table.notes:
        raise Unseen((table.notes or ("nothing could be held against the original",))[0])
    return f"compared: {', '.join(table.compared)}"


def saved(scene: Scene) -> str:
    """Stages that have one of the methods by which weights are saved."""
    said, project = stages(scene), scene.subject.project
    for stage in _all(scene):
        own = [
            project.method(stage.cls, name)
            for name in ("sharded_state_dict", "state_dict_for_save_checkpoint")
        ]
        if not any(own) and not megatron_base(project, stage.cls):
            raise Unseen(f"{stage.cls.name} has neither method, and may never be saved")
    return said


def recomputed(scene: Scene) -> str:
    """Calls that a forward wraps in a checkpoint."""
    forwards(scene)
    found = [
        {name for trace in scene.flow(stage).traces for name in trace.checkpointed} for stage in _all(scene)
    ]
    calls = sum(map(len, found))
    if not calls:
        raise Unseen("no call of a fuser or transformer, and no checkpoint, was seen in the forwards")
    return f"{count(calls, 'call')} through a checkpoint"


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
