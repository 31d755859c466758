"""What was looked at for the checklist of the training script."""

from __future__ import annotations

import ast
import re

from ..project.data_reads import data_reads
from ..project.loss_binding import loss_bindings
from ..project.training import TrainingScript
from .looks import Scene, Unseen, count
from .model import Mark

_FLOAT = re.compile(r"\.float\(\)|float32")


def scripts(scene: Scene) -> str:
    return count(len(_scripts(scene)), "training script")


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
    return count(len(reads), "read") + " of the data iterator"


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
    return f"{count(len(table.rows), 'tensor')} compared with what the stages build"


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
    return count(len(loads), "YAML section") if loads else "the script loads no YAML file"


def _scripts(scene: Scene) -> list[TrainingScript]:
    if not scene.subject.scripts:
        raise Unseen("no training script of this model was found")
    return scene.subject.scripts
