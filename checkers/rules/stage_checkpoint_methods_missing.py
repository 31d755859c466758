"""W7228"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts, ModuleFacts
from ..files import disk
from ..finding import Finding, Fix, joined
from ..language import tr
from ..project.project import FunctionRef, Project
from ..project.stage_classes import hidden_base, megatron_base, parameters
from ..project.stages import Stage, Stages
from ..project.training import Training
from ..rule import Rule, Symptom
from ..tpstate.config_chain import provider_of
from ..tpstate.events import Built
from ..tpstate.fixes import add_import, framework_of, lines_below, unsafe
from ..tpstate.layers import label
from ..tpstate.provider_table import COLUMN, MEGATRON, ROW
from ..tpstate.verdicts import at, place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class StageCheckpointMethodsMissing(Rule):
    """A stage has no `sharded_state_dict` that knows how its tensor-parallel parameters are cut."""

    code, symbol = "W7228", "stage-checkpoint-methods-missing"
    message = "%(problem)s"
    advice = (
        "Define `sharded_state_dict` on the stage, and take the axis of each cut from its parameter "
        "(`partition_dim`): `make_sharded_tensors_for_checkpoint(self.state_dict(keep_vars=True), prefix, axes, "
        "sharded_offsets)`."
    )
    why = (
        "With `--save` the training loop calls `sharded_state_dict`: distributed checkpoints (`torch_dist`) are the "
        "default. torch.nn.Module has none, and what MegatronModule inherits takes all that lies below a plain "
        "nn.Module for replicated, parallel layers too: one rank's shard is saved as the whole."
    )
    symptom = Symptom.TRAP
    runtime = (
        "AttributeError after the first `--save-interval` steps, when the first checkpoint is due; or a checkpoint "
        "that lacks the shards of all ranks but one"
    )
    limits = (
        "Stages of a known order in code that uses Megatron. Silent where a base class outside the tree may "
        "define the method, where `--ckpt-format torch` is set, and where the training script is seen "
        "and neither it nor a shell script beside it asks for `--save`; undecided where a stage defines "
        "`state_dict_for_save_checkpoint`, which that format calls."
    )
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = (
        "Format and names of the checkpoint are the reference stages'; old checkpoints are not converted."
    )

    bad = """
    from megatron.core import parallel_state
    from torch import nn


    class Net_stage0(nn.Module):  # [stage-checkpoint-methods-missing]
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            return self.layer(x)


    class Net_stage1(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            return self.layer(self.input_tensor[0])
    """
    good = """
    from megatron.core import parallel_state
    from megatron.core.transformer.utils import make_sharded_tensors_for_checkpoint
    from torch import nn


    class Net_stage0(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x):
            return self.layer(x)

        def sharded_state_dict(self, prefix="", sharded_offsets=(), metadata=None):
            axes = {
                name: parameter.partition_dim
                for name, parameter in self.named_parameters()
                if getattr(parameter, "tensor_model_parallel", False)
            }
            return make_sharded_tensors_for_checkpoint(
                self.state_dict(keep_vars=True), prefix, axes, sharded_offsets,
                tp_group=parallel_state.get_tensor_model_parallel_group(),
                dp_cp_group=parallel_state.get_data_parallel_group(with_context_parallel=True),
            )


    class Net_stage1(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.layer = nn.Linear(dim, dim)

        def set_input_tensor(self, input_tensor):
            self.input_tensor = input_tensor

        def forward(self, x=None):
            return self.layer(self.input_tensor[0])

        def sharded_state_dict(self, prefix="", sharded_offsets=(), metadata=None):
            axes = {
                name: parameter.partition_dim
                for name, parameter in self.named_parameters()
                if getattr(parameter, "tensor_model_parallel", False)
            }
            return make_sharded_tensors_for_checkpoint(
                self.state_dict(keep_vars=True), prefix, axes, sharded_offsets,
                tp_group=parallel_state.get_tensor_model_parallel_group(),
                dp_cp_group=parallel_state.get_data_parallel_group(with_context_parallel=True),
            )
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        alike: dict[tuple[int, str, bool], list[Finding]] = {}
        for stage, finding in self._each(analysis):
            text = finding.message.replace(stage.cls.name, "", 1)
            alike.setdefault((id(stage.family), text, finding.decided), []).append(finding)
        for found in alike.values():  # the stages of one model lack it alike
            yield joined(found, tr("this stage, too"))

    def _each(self, analysis: Analysis) -> Iterator[tuple[Stage, Finding]]:
        project = analysis.project
        for stage in project.knowledge(Stages):
            cls = stage.cls
            if (
                not (stage.family.ordered or stage.family.dispatches)
                or hidden_base(project, cls)
                or project.method(cls, "sharded_state_dict")
            ):
                continue
            scripts = _scripts(project, stage)
            texts = [cls.module.text, *(script.text for script in scripts)]
            if not any("megatron" in text for text in texts) or any(
                _PLAIN_FORMAT.search(text) for text in texts
            ):
                continue
            if scripts and not any(map(_saves, scripts)):
                continue
            base = megatron_base(project, cls)
            if stage.family.dispatches and (base or not _saves_by_megatron(project)):
                continue  # Megatron's own way to write a model, or a saver of the tree's own
            lost = _lost_layer(analysis, cls) if base else None
            if base and (lost is None or lost.owner is None):
                continue
            problem = tr("`%(cls)s` has no `sharded_state_dict`, by which Megatron saves it", cls=cls.name)
            if lost is not None and lost.owner is not None:
                problem = tr(
                    "the `sharded_state_dict` that `%(cls)s` inherits saves `%(obj)s`, below the plain "
                    "module `%(owner)s`, as if every rank held the same",
                    cls=cls.name,
                    obj=label(lost.obj),
                    owner=lost.owner.name,
                )
            finding = self.finding(
                place_of(cls.module, cls.node),
                object=cls.name,
                evidence=(at(lost.site, tr("`%(obj)s` is built here", obj=label(lost.obj))),)
                if lost is not None
                else (),
                fix=_typed(project, cls),
                decided=bool(base) or project.method(cls, "state_dict_for_save_checkpoint") is None,
                problem=problem,
            )
            yield stage, finding


_MEGATRON_SAVES = re.compile(r"\b(pretrain|save_checkpoint|dist_checkpointing)\b")
_PLAIN_FORMAT = re.compile(r"ckpt[-_]format[\"']?[\s=:,]+[\"']?torch\b(?!_)")
_SAVES = re.compile(r"""--save\b|["']save["']|\bsave\s*=|args\.save\b""")
_HELPER = "make_sharded_tensors_for_checkpoint"
_METHOD = """
def sharded_state_dict(self, prefix="", sharded_offsets=(), metadata=None):
    axes = {
        name: parameter.partition_dim
        for name, parameter in self.named_parameters()
        if getattr(parameter, "tensor_model_parallel", False)
    }
    return make_sharded_tensors_for_checkpoint(
        self.state_dict(keep_vars=True),
        prefix,
        axes,
        sharded_offsets,
        tp_group=parallel_state.get_tensor_model_parallel_group(),
        dp_cp_group=parallel_state.get_data_parallel_group(with_context_parallel=True),
    )"""


def _scripts(project: Project, stage: Stage) -> list[ModuleFacts]:
    """The training scripts of a stage: those that map ranks to it, or import its package and declare shapes."""
    package = stage.cls.module.path.parent.name
    named = [
        script.module
        for script in project.knowledge(Training)
        if script.family is stage.family or (script.shape_configs and package in script.module.words)
    ]
    return [*(found.module for found in stage.family.maps), *named]


def _saves_by_megatron(project: Project) -> bool:
    return any(module.says(_MEGATRON_SAVES) for module in project.modules)


def _saves(script: ModuleFacts) -> bool:
    """Whether a training script, or a shell script beside it, asks for checkpoints: without, nothing is called."""
    texts = [script.text]
    for path in disk.matching(script.path.parent, "*.sh"):
        with contextlib.suppress(OSError):
            texts.append(disk.read(path).decode(errors="replace"))
    return any(_SAVES.search(text) for text in texts)


def _lost_layer(analysis: Analysis, stage: ClassFacts) -> Built | None:
    """A parallel layer below the stage whose own module is a plain nn.Module of the tree."""
    project, below = analysis.project, _below(analysis, stage)
    for event in analysis.log.events:
        if type(event) is not Built or id(event.owner) not in below:
            continue
        row, owner = provider_of(event), event.owner
        if row is None or row.family != MEGATRON or row.kind not in (COLUMN, ROW) or owner is None:
            continue
        if owner in project.mro(stage) or megatron_base(project, owner) or hidden_base(project, owner):
            continue
        if project.method(owner, "sharded_state_dict") is None:
            return event
    return None


def _below(analysis: Analysis, stage: ClassFacts) -> set[int]:
    """The classes that a stage builds, however deep: modules built alike are run once, for one of the stages."""
    built: dict[int, set[int]] = {}
    for event in analysis.log.events:
        if type(event) is Built and event.certain and event.obj.cls.facts is not None:
            built.setdefault(id(event.owner), set()).add(id(event.obj.cls.facts))
    found: set[int] = set()
    waiting = [id(entry) for entry in analysis.project.mro(stage)]
    while waiting:
        key = waiting.pop()
        if key not in found:
            found.add(key)
            waiting += built.get(key, ())
    return found


def _typed(project: Project, cls: ClassFacts) -> Fix | None:
    """The method of the reference stages, and what it calls; an older copy of Megatron takes no groups there."""
    core = f"{framework_of(cls.module)}.core"
    home = project.find_module(f"{core}.transformer.utils", cls.module)
    helper = project.attribute(home, _HELPER, cls.module) if home is not None else None
    takes_groups = not isinstance(helper, FunctionRef) or "tp_group" in parameters(helper.node)
    lines = [line for line in _METHOD.split("\n") if takes_groups or "_group=" not in line]
    groups = add_import(cls.module, core, "parallel_state") if takes_groups else ()
    return unsafe(
        lines_below(cls.module, cls.node.body[-1], *lines),
        *groups,
        *add_import(cls.module, f"{core}.transformer.utils", _HELPER),
    )
