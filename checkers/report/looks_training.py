"""What was looked at for the checklist of the training script."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from ..language import counted, tr
from ..project.data_reads import data_reads
from ..project.loss_binding import loss_bindings
from ..project.training import TrainingScript
from .looks import Nothing, Scene, Unseen
from .model import Mark

_FLOAT = re.compile(r"\.float\(\)|float32")
_OTHER = re.compile(r"\.half\(\)|\.double\(\)|\bfloat16|\bbfloat16|\bfloat64")


def scripts(scene: Scene) -> str:
    return counted(len(_scripts(scene)), "training script")


def pretrain(scene: Scene) -> str:
    for script in _scripts(scene):
        if script.pretrain is None:
            raise Unseen(
                tr(
                    "%(module)s does not call pretrain, or calls it more than once",
                    module=script.module.display,
                )
            )
        if script.pretrain.is_open:
            raise Unseen(
                tr("%(module)s hides arguments of pretrain behind * or **", module=script.module.display)
            )
    return tr("the call of pretrain")


def dataset_provider(scene: Scene) -> str:
    pretrain(scene)
    for script in _scripts(scene):
        provider = script.handed("train_valid_test_dataset_provider")
        if provider is None or not any(isinstance(n, ast.Return) for n in provider.nodes):
            raise Unseen(
                tr("the dataset provider of %(module)s could not be followed", module=script.module.display)
            )
        text = "\n".join(ast.unparse(node) for node in provider.nodes if isinstance(node, ast.stmt))
        if "DataLoader" in text or not re.search(r"Dataset\w*\(", text):
            raise Unseen(
                tr(
                    "what the dataset provider of %(module)s returns was not seen to be Datasets",
                    module=script.module.display,
                )
            )
    return tr("the dataset provider")


def forward_step(scene: Scene) -> str:
    for script in _scripts(scene):
        if not script.forward_steps:
            raise Unseen(tr("no forward step was found in %(module)s", module=script.module.display))
    return tr("the forward step")


def loss(scene: Scene) -> str:
    """The function beside the output, followed to its return."""
    forward_step(scene)
    for script in _scripts(scene):
        for step in script.forward_steps:
            found = [binding for binding in loss_bindings(script, step) if binding.loss is not None]
            if not found:
                raise Unseen(
                    tr("the loss function of %(module)s could not be followed", module=script.module.display)
                )
            for scope in [binding.loss for binding in found if binding.loss is not None]:
                if not _is_contract(scope.nodes):
                    raise Unseen(
                        tr(
                            "what the loss function of %(module)s returns was not seen whole",
                            module=script.module.display,
                        )
                    )
    return tr("the loss function")


def _is_contract(nodes: Sequence[ast.AST]) -> bool:
    """Whether every return is `loss, tensor, {name: tensor}` in so many words."""
    nodes = list(nodes)
    text = {
        target.id: ast.unparse(node.value)
        for node in nodes
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    returns = [node.value for node in nodes if isinstance(node, ast.Return)]
    for value in returns:
        if not isinstance(value, ast.Tuple) or len(value.elts) != 3:
            return False
        _, tokens, logged = value.elts
        if not isinstance(logged, ast.Dict):
            return False
        if "tensor" not in text.get(ast.unparse(tokens), ast.unparse(tokens)):
            return False
        for item in logged.values:
            if not re.search(r"\b(cat|stack|tensor)\(", text.get(ast.unparse(item), ast.unparse(item))):
                return False
    return bool(returns)


def float_data(scene: Scene) -> str:
    """Reads of data with a conversion in their script."""
    said = data_read(scene)
    for script in _scripts(scene):
        text = script.module.text
        if len(_FLOAT.findall(text)) < 2 or _OTHER.search(text):
            raise Unseen(
                tr(
                    "input and label were not both seen to become float32 in %(module)s",
                    module=script.module.display,
                )
            )
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
        raise Unseen(tr("no next(data_iterator) was found in the forward step"))
    return tr("%(reads)s of the data iterator", reads=counted(len(reads), "read"))


def model_provider(scene: Scene) -> str:
    pretrain(scene)
    for script in _scripts(scene):
        provider = script.handed("model_provider")
        if provider is None:
            raise Unseen(
                tr("the model provider of %(module)s could not be followed", module=script.module.display)
            )
        if not any(isinstance(node, ast.Return) and node.value is not None for node in provider.nodes):
            raise Unseen(
                tr(
                    "the model provider of %(module)s was not seen to return a model",
                    module=script.module.display,
                )
            )
    return tr("the model provider and the imports")


def stage_shapes(scene: Scene) -> str:
    _scripts(scene)
    table = scene.tables.boundaries
    if not table.rows:
        raise Unseen((table.notes or (tr("nothing that crosses a boundary is known"),))[0])
    unknown = [row for row in table.rows if row.mark is Mark.OPEN]
    if unknown:
        first = unknown[0]
        raise Unseen(
            tr(
                "%(number)s of %(total)s tensors; %(first)s of %(boundary)s: %(note)s",
                number=len(unknown),
                total=len(table.rows),
                first=first.name,
                boundary=first.boundary,
                note=first.note,
            )
        )
    return tr("%(count)s compared with what the stages build", count=counted(len(table.rows), "tensor"))


def stage_map(scene: Scene) -> str:
    for script in _scripts(scene):
        if script.stage_map is None:
            raise Unseen(tr("%(module)s has no one {rank: class} map", module=script.module.display))
        classes = {id(cls) for cls in script.stage_map.entries.values() if cls is not None}
        if len(classes) != len(scene.subject.family.stages):
            raise Unseen(
                tr("the map of %(module)s was not seen to name each stage once", module=script.module.display)
            )
    return tr("the stage map")


def yaml_files(scene: Scene) -> str:
    _scripts(scene)
    loads = scene.subject.configs
    broken = [load for load in loads if load.problem]
    if broken:
        name = broken[0].file.path.name if broken[0].file is not None else tr("a YAML file")
        raise Unseen(tr("%(what)s: %(note)s", what=name, note=broken[0].problem))
    if not loads:
        raise Nothing(tr("the script loads no YAML file"))
    return counted(len(loads), "YAML section")


def _scripts(scene: Scene) -> list[TrainingScript]:
    if not scene.subject.scripts:
        raise Unseen(tr("no training script of this model was found"))
    return scene.subject.scripts
