"""What was looked at for the checklist of the stages."""

from __future__ import annotations

import ast
import re

from ..facts.module import ClassFacts
from ..language import counted, tr
from ..project.stage_classes import hidden_base, megatron_base
from ..project.stages import Stage
from .looks import Nothing, Scene, Unseen, original
from .model import Mark

_ATTRIBUTES = ("pre_process", "share_embeddings_and_output_weights", "config", "input_tensor")


def stages(scene: Scene) -> str:
    """All stages, with bases that can be seen."""
    hidden = [s.cls.name for s in scene.subject.family.stages if hidden_base(scene.subject.project, s.cls)]
    if hidden:
        raise Unseen(tr("a base class of %(hidden)s is out of sight", hidden=", ".join(hidden)))
    return counted(len(_all(scene)), "stage")


def attributes(scene: Scene) -> str:
    """Assignments of the four attributes that the schedule reads."""
    said = stages(scene)
    for stage in _all(scene):
        text = _text(scene, stage)
        missing = [name for name in _ATTRIBUTES if not re.search(rf"self\.{name}\b[^=\n]*=[^=]", text)]
        if missing and not megatron_base(scene.subject.project, stage.cls):
            raise Unseen(
                tr("%(cls)s was not seen to set %(missing)s", cls=stage.cls.name, missing=", ".join(missing))
            )
    return said


def setters(scene: Scene) -> str:
    """What each set_input_tensor does: it stores the tensors, or hands them on."""
    said = stages(scene)
    for stage in _all(scene):
        found = scene.subject.project.method(stage.cls, "set_input_tensor")
        text = found[0].module.text_of(found[1]) if found is not None else ""
        if not re.search(r"self\.input_tensor\s*=|\.set_input_tensor\(", text):
            raise Unseen(
                tr("set_input_tensor of %(cls)s was not seen to set input_tensor", cls=stage.cls.name)
            )
    return said


def first_stage(scene: Scene) -> str:
    first = _all(scene)[0]
    if not first.is_first or first.rank:
        raise Unseen(tr("which stage is the first is not known"))
    _returns(scene, first)
    forward = scene.subject.project.method(first.cls, "forward")
    if forward is None or "input_tensor" in forward[0].module.text_of(forward[1]):
        raise Unseen(tr("the forward of %(cls)s names input_tensor", cls=first.cls.name))
    return first.cls.name


def later_stages(scene: Scene) -> str:
    """What every later stage does with the received tensors."""
    found = _ordered(scene)[1:]
    for stage in found:
        flow = scene.flow(stage)
        if flow.receiving is None or not flow.reads_input:
            raise Unseen(tr("what %(cls)s receives could not be followed", cls=stage.cls.name))
        if name := _argument_read(scene, stage):
            raise Unseen(
                tr("the forward of %(cls)s reads its argument `%(name)s`", cls=stage.cls.name, name=name)
            )
    return counted(len(found), "later stage")


def middle_stages(scene: Scene) -> str:
    found = _ordered(scene)[1:-1]
    if not found:
        raise Nothing(tr("there is no middle stage"))
    for stage in found:
        if scene.flow(stage).unpacked() is None:
            raise Unseen(tr("what %(cls)s unpacks could not be followed", cls=stage.cls.name))
        _returns(scene, stage)
        names = scene.flow(stage).unpacked()
        passed = {item.origin.passes for item in scene.flow(stage).sent()}
        for index, name in enumerate(names[1] if names is not None else ()):
            if index and index not in passed:
                raise Unseen(
                    tr("`%(name)s` was not seen to leave %(cls)s as it came", name=name, cls=stage.cls.name)
                )
    return counted(len(found), "middle stage")


def forms(scene: Scene) -> str:
    """Every return: a tuple, and of the last stage one tensor."""
    found = _ordered(scene)
    for stage in found:
        _returns(scene, stage)
        for trace in scene.flow(stage).traces:
            for seen in trace.returns:
                fits = seen.origin.is_tensor if stage is found[-1] else seen.origin.kind == "tuple"
                if not fits:
                    raise Unseen(tr("the form of what %(cls)s returns was not seen", cls=stage.cls.name))
    return tr("the returns of %(count)s", count=counted(len(found), "stage"))


def tensors_sent(scene: Scene) -> str:
    """Each thing that crosses: a tensor, or what came and is passed on."""
    said = sending_stages(scene)
    for stage in _ordered(scene)[:-1]:
        for item in scene.flow(stage).sent():
            if not item.origin.is_tensor and item.origin.passes is None:
                raise Unseen(
                    tr(
                        "what `%(text)s` of %(cls)s is was not seen",
                        text=item.name or ast.unparse(item.node),
                        cls=stage.cls.name,
                    )
                )
    return said


def features_sent(scene: Scene) -> str:
    """What crosses, each made by a submodule or passed on."""
    said = sending_stages(scene)
    for stage in _ordered(scene)[:-1]:
        for item in scene.flow(stage).sent():
            if not item.origin.name and item.origin.passes is None:
                raise Unseen(
                    tr(
                        "what makes `%(text)s` of %(cls)s was not seen",
                        text=item.name or ast.unparse(item.node),
                        cls=stage.cls.name,
                    )
                )
    return said


def masks(scene: Scene) -> str:
    """Masks of the stages and of the original: they are compared by hand."""
    said = forwards(scene)
    model = scene.subject.original
    texts = [_text(scene, stage) for stage in _all(scene)]
    texts += [model.text] if model is not None else []
    if not any("mask" in text for text in texts):
        raise Nothing(tr("%(said)s: no mask", said=said))
    raise Unseen(
        tr(
            "the masks are compared with %(text)s by hand",
            text=model.name if model is not None else "the original",
        )
    )


def sending_stages(scene: Scene) -> str:
    """What every stage but the last returns."""
    found = _ordered(scene)[:-1]
    for stage in found:
        _returns(scene, stage)
    tensors = len(scene.tables.boundaries.rows)
    return tr(
        "%(count)s over %(boundaries)s",
        count=counted(tensors, "tensor"),
        boundaries=counted(len(found), "boundary"),
    )


def received_tensors(scene: Scene) -> str:
    """Whether every tensor that crosses gets a gradient."""
    said = sending_stages(scene)
    unknown = [row for row in scene.tables.boundaries.rows if row.gradient is Mark.OPEN]
    if unknown:
        raise Unseen(
            tr(
                "%(unknown)s of boundary %(boundary)s: %(gradient_note)s",
                unknown=unknown[0].name,
                boundary=unknown[0].boundary,
                gradient_note=unknown[0].gradient_note,
            )
        )
    for stage in _ordered(scene)[:-1]:
        for item in scene.flow(stage).sent():
            if item.origin.passes is None and item.origin.contiguous is not True:
                raise Unseen(
                    tr(
                        "whether `%(text)s` of %(cls)s is contiguous was not seen",
                        text=item.name or ast.unparse(item.node),
                        cls=stage.cls.name,
                    )
                )
    return said


def forwards(scene: Scene) -> str:
    found = _all(scene)
    for stage in found:
        _returns(scene, stage)
    return tr("the forward of %(count)s", count=counted(len(found), "stage"))


def saved(scene: Scene) -> str:
    """Stages that have the method by which the default format saves weights."""
    said, project = stages(scene), scene.subject.project
    for stage in _all(scene):
        if project.method(stage.cls, "sharded_state_dict") is None:
            raise Unseen(tr("%(cls)s has no sharded_state_dict that can be seen", cls=stage.cls.name))
    return said


def recomputed(scene: Scene) -> str:
    """Calls that a forward wraps in a checkpoint."""
    forwards(scene)
    found = [
        {name for trace in scene.flow(stage).traces for name in trace.checkpointed} for stage in _all(scene)
    ]
    calls = sum(map(len, found))
    if not calls:
        raise Unseen(tr("no call of a fuser or transformer, and no checkpoint, was seen in the forwards"))
    return tr("%(count)s through a checkpoint", count=counted(calls, "call"))


def closed_forwards(scene: Scene) -> str:
    """Forwards of which every statement was followed."""
    said = forwards(scene)
    for stage in _all(scene):
        if any(trace.is_open for trace in scene.flow(stage).traces):
            raise Unseen(tr("not all of the forward of %(cls)s could be followed", cls=stage.cls.name))
    return said


def parameters(scene: Scene) -> str:
    """The parameters of each stage beside those of the original."""
    said, project, model = original(scene), scene.subject.project, scene.subject.original
    own = project.method(model, "__init__") if model is not None else None
    wanted = _parameters(own[1])[1:] if own is not None else []
    for stage in _all(scene):
        found = project.method(stage.cls, "__init__")
        names = _parameters(found[1]) if found is not None else []
        lacking = [name for name in wanted if name not in names]
        if lacking:
            raise Unseen(
                tr(
                    "%(cls)s does not take `%(lacking)s` of the original",
                    cls=stage.cls.name,
                    lacking=lacking[0],
                )
            )
    return said


def _parameters(function: ast.FunctionDef) -> list[str]:
    given = function.args
    return [arg.arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def _argument_read(scene: Scene, stage: Stage) -> str:
    """An argument of a forward that is read before it is set."""
    forward = scene.subject.project.method(stage.cls, "forward")
    if forward is None:
        return ""
    for name in _parameters(forward[1])[1:]:
        simple = (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return)
        found = [node for node in ast.walk(forward[1]) if isinstance(node, simple)]
        for node in sorted(found, key=lambda node: node.lineno):
            names = [part for part in ast.walk(node) if isinstance(part, ast.Name) and part.id == name]
            if names:
                if any(isinstance(part.ctx, ast.Load) for part in names):
                    return name
                break
    return ""


def _text(scene: Scene, stage: Stage) -> str:
    """A stage's class with its bases."""
    entries = scene.subject.project.mro(stage.cls)
    return "\n".join(entry.text for entry in entries if isinstance(entry, ClassFacts))


def _all(scene: Scene) -> list[Stage]:
    return scene.subject.family.stages


def _ordered(scene: Scene) -> list[Stage]:
    family = scene.subject.family
    if not family.ordered:
        raise Unseen(tr("the order of the stages is decided at run time"))
    if family.gaps or family.stages[0].rank:
        raise Unseen(tr("a stage is missing"))
    return family.stages


def _returns(scene: Scene, stage: Stage) -> None:
    """Make sure that what a stage returns was followed."""
    if not any(trace.returns for trace in scene.flow(stage).traces):
        raise Unseen(tr("the forward of %(cls)s could not be followed", cls=stage.cls.name))
