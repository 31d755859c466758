"""The modules that a plain model is made of, and which of them have to be split over tensor-parallel ranks."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from ..facts.module import ClassFacts, ModuleFacts
from ..facts.nodes import walk
from ..project.distributed import distributed_classes, distributed_name, is_named_distributed, original_of
from ..project.project import External, Project
from ..project.registries import Registry, registries

_LINEAR = ("torch.nn.Linear", "torch.nn.modules.linear.Linear", "torch.nn.modules.Linear")


@dataclass(frozen=True, eq=False)
class Style:
    """How a registry names a class."""

    registry: Registry
    name: str
    target: ClassFacts


class Parts:
    """What calls build, for one project."""

    def __init__(self, project: Project, model: str) -> None:
        self.project = project
        self._model = model
        self._styles: dict[str, Style] = {}
        for registry in registries(project):
            for entry in registry.entries:
                if entry.target is not None:
                    self._styles.setdefault(entry.style, Style(registry, entry.style, entry.target))
        self._split: dict[int, bool] = {}
        self._users: dict[int, list[ClassFacts]] = {}

    def style(self, call: ast.Call) -> Style | None:
        """What a wrapper is asked for: `OneFuser(style="PanguFuser", …)`."""
        for word in call.keywords:
            if word.arg == "style" and isinstance(word.value, ast.Constant):
                return self._styles.get(str(word.value.value))
        return None

    def style_of(self, cls: ClassFacts) -> Style | None:
        """The registry entry of a class."""
        return next((style for style in self._styles.values() if style.target is cls), None)

    def built(self, module: ModuleFacts, call: ast.Call) -> ClassFacts | None:
        """The module of the project that a call builds, by style or by name."""
        style = self.style(call)
        if style is not None:
            return style.target
        found = self.project.resolve_expression(module, call.func)
        return found if isinstance(found, ClassFacts) and self.project.is_module_class(found) else None

    def is_linear(self, module: ModuleFacts, call: ast.Call) -> bool:
        """Whether a call builds torch's linear layer."""
        found = self.project.resolve_expression(module, call.func)
        return isinstance(found, External) and found.dotted in _LINEAR

    def is_foreign(self, module: ModuleFacts, call: ast.Call) -> bool:
        """Whether a call builds a network of another package, which nobody splits here."""
        found = self.project.resolve_expression(module, call.func)
        if not isinstance(found, External):
            return False
        name = found.dotted.rsplit(".", 1)[-1]
        if found.dotted.split(".")[0] in ("torch", "numpy", "math") or not name[:1].isupper():
            return name in (
                "MultiheadAttention",
                "TransformerEncoderLayer",
                "TransformerDecoderLayer",
                "LSTM",
                "GRU",
            )
        return bool(re.search(r"Stage|Block|Layer|Attention|Transformer|Mlp|MLP|Encoder|Decoder", name))

    def is_split(self, cls: ClassFacts) -> bool:
        """Whether a module holds linear layers, itself or in its parts, and is not distributed yet."""
        if id(cls) not in self._split:
            self._split[id(cls)] = False  # what a circle finds
            self._split[id(cls)] = not is_named_distributed(cls) and any(
                self._needs(cls.module, call) for call in calls_in(cls)
            )
        return self._split[id(cls)]

    def _needs(self, module: ModuleFacts, call: ast.Call) -> bool:
        if self.is_linear(module, call) or self.is_foreign(module, call):
            return True
        part = self.built(module, call)
        return part is not None and self.is_split(part)

    def existing(self, cls: ClassFacts) -> ClassFacts | None:
        """The distributed version that the project has already."""
        return next(
            (c for c in distributed_classes(self.project) if original_of(self.project, c) is cls), None
        )

    def new_name(self, cls: ClassFacts) -> str:
        """`{Style}Distributed{Type}`, the style being the model's name or the first word."""
        size = len(self._model)
        if cls.name.lower().startswith(self._model.lower()) and len(cls.name) > size:
            return f"{cls.name[:size]}Distributed{cls.name[size:]}"
        return distributed_name(cls)

    def styled(self, style: str, cls: ClassFacts) -> str:
        """The style of the distributed version: as its class, where the plain one is as its own."""
        return self.new_name(cls) if style == cls.name else f"{style}Distributed"

    def below(self, model: ClassFacts) -> list[ClassFacts]:
        """The modules of a model that have to be split and have no distributed version, each once, outermost first."""
        found: list[ClassFacts] = []
        waiting = [model]
        while waiting:
            cls = waiting.pop(0)
            for call in calls_in(cls):
                part = self.built(cls.module, call)
                if part is not None and cls not in self.users(part):
                    self.users(part).append(cls)
                if part is not None and part not in found and part is not model:
                    if self.is_split(part) and self.existing(part) is None:
                        found.append(part)
                        waiting.append(part)
        return found

    def users(self, cls: ClassFacts) -> list[ClassFacts]:
        """The modules of the model that build a class, once `below` has looked for them."""
        return self._users.setdefault(id(cls), [])


def calls_in(cls: ClassFacts) -> list[ast.Call]:
    """Every call in the methods of a class, in the order of the text."""
    found = [node for method in cls.methods.values() for node in walk(method) if isinstance(node, ast.Call)]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))
