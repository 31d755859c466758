"""Names and places of a draft."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..facts.module import ClassFacts
from ..project.project import Project


@dataclass(frozen=True)
class Names:
    """What the files, classes and packages of a draft are called.

    `models` is the folder that holds the folder of the plain model, `package` its dotted name; `examples` the folder of
    the training script.
    """

    name: str
    stages: int
    models: Path
    package: str
    examples: Path
    in_onescience: bool

    @property
    def folder(self) -> str:
        """The folder of the stages, and of the script."""
        return f"{self.name.lower()}_distributed_{self.stages}stage"

    @property
    def megatron(self) -> str:
        """The package of Megatron's core."""
        return "onescience.distributed.megatron.core" if self.in_onescience else "megatron.core"

    @property
    def training(self) -> str:
        """The package that starts a training."""
        return (
            "onescience.distributed.megatron.training"
            if self.in_onescience
            else "onescience_check.runtime.training"
        )

    @property
    def core(self) -> str:
        """The package that has `mpu`."""
        return (
            "onescience.distributed.megatron.core" if self.in_onescience else "onescience_check.runtime.core"
        )

    @property
    def verify_words(self) -> str:
        """What `verify` wants to be told of the project: OneScience's copy of Megatron stands for the package."""
        home = "onescience.distributed.megatron"
        words = f" --alias {home}=megatron --stub {home}.core.transformer.moe"
        return words if self.in_onescience else ""

    def stage(self, index: int) -> str:
        """The class of a stage."""
        return f"{self.name}_stage{index}"

    def stage_file(self, index: int) -> Path:
        """Where a stage goes."""
        return self.models / self.folder / f"{self.name.lower()}_stage{index}.py"


def names_for(project: Project, model: ClassFacts, name: str, stages: int, tree: Path) -> Names:
    """Names and places by the guide: beside the plain model, and beside its training script where there is one."""
    home = model.module.path.parent
    package = model.module.name.rpartition(".")[0]
    if home.name.lower() == model.module.path.stem.lower() or (
        (home / "__init__.py").exists() and home.name != "models"
    ):
        home, package = home.parent, package.rpartition(".")[0]
    scripts = [
        p
        for p in tree.glob("examples/*/*")
        if p.is_dir() and p.name.lower().replace("_", "").startswith(name.lower())
    ]
    domain = (
        scripts[0].parent
        if scripts
        else next(
            (p for p in sorted(tree.glob("examples/*")) if p.is_dir() and p.name == "earth"),
            tree / "examples/earth",
        )
    )
    in_onescience = project.find_module("onescience.distributed.megatron.training", model.module) is not None
    return Names(
        name, stages, home, package, domain / f"{name.lower()}_distributed_{stages}stage", in_onescience
    )
