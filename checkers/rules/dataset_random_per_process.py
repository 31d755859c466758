"""W7517"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts, ModuleFacts
from ..finding import Finding
from ..project.project import External, Project, dotted_name
from ..project.scopes import Scope
from ..rule import Rule, Symptom
from ..spmd.called import calls_of
from ..spmd.frames import Frame, Scopes
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_SPLIT = ("is_pipeline_first_stage", "is_pipeline_last_stage", "next(")
_DRAWS = re.compile(
    r"random\.(random|randint|randrange|uniform|choice|choices|sample|shuffle|gauss|normalvariate)"
    r"|numpy\.random\.(rand|randn|randint|random|choice|uniform|normal|permutation|shuffle)"
    r"|torch\.(rand|randn|randint|randperm|normal|bernoulli|multinomial)"
)
_SEEDS = re.compile(r"\bseed\s*\(|manual_seed|set_random_seed|default_rng\(\s*[^)\s]|seed_everything")


class DatasetRandomPerProcess(Rule):
    """A dataset draws unseeded random numbers, and the first stage reads the input, the last the label."""

    code, symbol = "W7517", "dataset-random-per-process"
    message = (
        "`%(call)s` draws in `%(where)s`: the first and the last stage get different samples for one index"
    )
    advice = "Draw from a generator that is made of the index, such as `random.Random(index)`."
    why = (
        "Each stage is a process with a generator of its own. The input that the first one reads and the label that "
        "the last one reads come from different draws, and the model trains on pairs that do not belong together."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "Nothing fails; the loss stays near that of a constant forecast."
    limits = (
        "Only where the file, or a script that uses the dataset, reads on both end stages; helpers of the dataset are "
        "followed. Silent where a generator is passed, and where anything there sets a seed."
    )
    guide = "beyond the guide; 3.2 lets each stage read its own data"

    bad = """
    import random
    from megatron.core import mpu
    from torch.utils.data import Dataset


    class Crops(Dataset):
        def __init__(self, cube):
            self.cube = cube

        def __getitem__(self, index):
            start = random.randrange(64)  # [dataset-random-per-process]
            return self.cube[index, start : start + 32], self.cube[index + 1, start : start + 32]


    def read(iterator):
        field, label = next(iterator)
        return (field if mpu.is_pipeline_first_stage() else None), (label if mpu.is_pipeline_last_stage() else None)
    """
    good = """
    import random
    from megatron.core import mpu
    from torch.utils.data import Dataset


    class Crops(Dataset):
        def __init__(self, cube):
            self.cube = cube

        def __getitem__(self, index):
            start = random.Random(index).randrange(64)
            return self.cube[index, start : start + 32], self.cube[index + 1, start : start + 32]


    def read(iterator):
        field, label = next(iterator)
        return (field if mpu.is_pipeline_first_stage() else None), (label if mpu.is_pipeline_last_stage() else None)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        readers = [
            m
            for m in project.modules
            if all(word in m.text for word in _SPLIT) and not _is_seeded(m) and not project.is_framework(m)
        ]
        seen: set[int] = set()
        for reader in readers:
            for cls in _datasets(project, reader):
                if id(cls) not in seen and not _is_seeded(cls.module):
                    seen.add(id(cls))
                    yield from self._check_class(project, cls)

    def _check_class(self, project: Project, cls: ClassFacts) -> Iterator[Finding]:
        seen: set[int] = set()
        for name in ("__init__", "__getitem__"):
            found = project.method(cls, name)
            if found is None or _is_seeded(found[0].module):
                continue
            owner, method = found
            start = Frame(project, project.knowledge(Scopes).of(owner.module, method), cls)
            for call in calls_of(start):
                if id(call.node) in seen or not _draws(
                    project, call.frame.module, call.frame.scope, call.node
                ):
                    continue
                seen.add(id(call.node))
                function = call.frame.scope.function
                through = function.name if function is not None else name
                where = f"{owner.name}.{through}" if call.frame.cls is cls else through
                yield self.finding(
                    place_of(call.frame.module, call.node),
                    object=cls.name,
                    call=ast.unparse(call.node.func),
                    where=where,
                )


def _datasets(project: Project, reader: ModuleFacts) -> Iterator[ClassFacts]:
    """Datasets that a module defines or imports, and those that a class that it imports builds in its own file."""
    for name in reader.bindings:
        ref = project.resolve(reader, name)
        if isinstance(ref, ClassFacts) and project.method(ref, "__getitem__") is not None:
            yield ref
        elif isinstance(ref, ClassFacts):
            for other in ref.module.classes.values():
                if "__getitem__" in other.methods and re.search(rf"\b{other.name}\(", ref.text):
                    yield other


def _is_seeded(module: ModuleFacts) -> bool:
    """Whether a file sets a seed: at module level, or in a function that something in it names."""
    for found in _SEEDS.finditer(module.text):
        line = module.text.count("\n", 0, found.start()) + 1
        if module.lines[line - 1].lstrip().startswith(("from ", "import ")):
            continue
        around = [
            node
            for node in module.tree.body
            if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0)
        ]
        if not around or len(re.findall(rf"\b{around[0].name}\b", module.text)) > 1:
            return True
    return False


def _draws(project: Project, module: ModuleFacts, scope: Scope, node: ast.Call) -> bool:
    name = dotted_name(node.func)
    if (
        name is None
        or scope.owner_of(name.split(".")[0]) is not None
        or any(k.arg == "generator" for k in node.keywords)
    ):
        return False
    ref = project.resolve(module, name)
    return isinstance(ref, External) and _DRAWS.fullmatch(ref.dotted) is not None
