"""E7319"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import walk
from ..finding import Edit, Finding
from ..project.places import in_tests
from ..project.project import External, Project, dotted_name
from ..project.scopes import assignments
from ..rule import Rule, Symptom
from ..tpstate.fixes import insert_after, insert_before, unsafe
from ..tpstate.providers import provider_for
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_WEIGHTED = re.compile(
    r"(Linear|Conv\w*|Embedding|\w*Norm\w*|LSTM|GRU|RNN|\w*Attention|Transformer\w*|Bilinear|Parameter)\("
)
_OWN_WAY = re.compile(
    r"def (parameters|named_parameters|state_dict|load\w*|_apply|to|cuda|train)\(|inference_mode"
    r"|no_grad\(\)\s*\n\s*def "
)
"""A class that hands its parts on by itself, or never trains them."""
_MOVES = re.compile(r"\.(to|cuda|parameters|named_parameters|load\w*|state_dict|apply|train|eval)\(")


class ModuleInPlainContainer(Rule):
    """Layers are kept in a plain list or dict, where torch does not find them."""

    code, symbol = "E7319", "module-in-plain-container"
    message = "`self.%(name)s` is a plain %(kind)s of `%(made)s`: torch does not see the modules in it"
    advice = "Write `%(typed)s`."
    why = (
        "Parameters of modules in a plain list or dict are not registered: the optimizer does not train them, a "
        "checkpoint does not hold them, `.cuda()` leaves them behind, and gradients are not reduced over the ranks."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "an error about devices on a GPU, or layers that never change and are not saved"
    limits = (
        "Only where the container is written with its modules in the constructor of a module that calls them, and "
        "is neither moved nor handed on by hand. Silent for layers without parameters, for a list of one, which "
        "hides a module on purpose, and where weights are loaded piece by piece, as inference engines do."
    )
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "The parameters appear in `parameters()` and in checkpoints from here on."

    bad = """
    from torch import nn


    class DistributedFuser(nn.Module):
        def __init__(self, dim, depth):
            super().__init__()
            self.blocks = [nn.Linear(dim, dim) for _ in range(depth)]  # [module-in-plain-container]

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x
    """
    good = """
    from torch import nn


    class DistributedFuser(nn.Module):
        def __init__(self, dim, depth):
            super().__init__()
            self.blocks = nn.ModuleList([nn.Linear(dim, dim) for _ in range(depth)])

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return x
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        for cls in project.classes():
            built = cls.methods.get("__init__")
            if built is None or in_tests(cls.module.display):
                continue
            if project.is_framework(cls.module) or not project.is_module_class(cls):
                continue
            for node in walk(built):
                for target, value in assignments(node) if isinstance(node, ast.Assign) else ():
                    name, made = dotted_name(target) or "", _made(project, cls, value)
                    if (
                        made is None
                        and isinstance(value, ast.List | ast.Dict)
                        and not ast.unparse(value)[1:-1]
                    ):
                        made = _appended(project, cls, built, name)
                    if made is None or not re.fullmatch(r"self\.\w+", name) or _taken_care_of(cls, name):
                        continue
                    kind = "ModuleDict" if isinstance(value, ast.Dict | ast.DictComp) else "ModuleList"
                    yield self.finding(
                        place_of(cls.module, node),
                        object=cls.name,
                        fix=unsafe(*_wrapped(cls, value, kind)),
                        name=name.removeprefix("self."),
                        kind="dict" if kind == "ModuleDict" else "list",
                        made=made,
                        typed=f"{name} = nn.{kind}({'{…}' if kind == 'ModuleDict' else '[…]'})",
                    )


def _appended(project: Project, cls: ClassFacts, built: ast.FunctionDef, name: str) -> str | None:
    """The module class that an empty container of the constructor is filled with there, where all of it is."""
    items: list[ast.expr] = []
    for node in walk(built):
        if isinstance(node, ast.Call) and dotted_name(node.func) == f"{name}.append" and len(node.args) == 1:
            items.append(node.args[0])
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            if dotted_name(node.targets[0].value) == name:
                items.append(node.value)
    made = [_module_class(project, cls, item) for item in items]
    return made[0] if made and None not in made else None


def _wrapped(cls: ClassFacts, value: ast.expr, kind: str) -> tuple[Edit, Edit]:
    return insert_before(cls.module, value, f"nn.{kind}("), insert_after(cls.module, value, ")")


def _made(project: Project, cls: ClassFacts, value: ast.expr) -> str | None:
    """The module class that a list or dict display is made of, where all of it is."""
    if isinstance(value, ast.ListComp):
        items = [value.elt]
    elif isinstance(value, ast.DictComp):
        items = [value.value]
    elif isinstance(value, ast.List):
        items = value.elts
    elif isinstance(value, ast.Dict):
        items = value.values
    else:
        return None
    if isinstance(value, ast.List) and len(items) == 1:
        return None  # a module that is not to be registered
    names = [_module_class(project, cls, item) for item in items]
    return names[0] if names and None not in names else None


def _module_class(project: Project, cls: ClassFacts, node: ast.expr) -> str | None:
    name = dotted_name(node.func) if isinstance(node, ast.Call) else None
    if isinstance(node, ast.Call) and any(keyword.arg == "weights" for keyword in node.keywords):
        return None  # it loads its own weights where they belong
    ref = project.resolve(cls.module, name) if name else None
    if isinstance(ref, ClassFacts) and project.is_module_class(ref):
        return ref.name if _WEIGHTED.search(ref.text) else None
    if isinstance(ref, External) and provider_for(project, ref) is not None:
        return name
    is_torch = isinstance(ref, External) and ref.dotted.startswith("torch.nn.")
    return name if is_torch and name and _WEIGHTED.fullmatch(f"{name.rsplit('.', 1)[-1]}(") else None


def _attributes(method: ast.FunctionDef) -> list[ast.Attribute]:
    return [node for node in walk(method) if isinstance(node, ast.Attribute)]


def _taken_care_of(cls: ClassFacts, name: str) -> bool:
    """Whether the container is never called from, or its modules reach torch in another way."""
    text, bare = cls.text, re.escape(name)
    if _OWN_WAY.search(text) or "def load_weights(" in cls.module.text:
        return True
    others = [method for key, method in cls.methods.items() if key != "forward"]
    movers = [method for method in others if _MOVES.search(cls.module.text_of(method))]
    if any(
        dotted_name(node) == name and isinstance(node.ctx, ast.Load)
        for method in movers
        for node in _attributes(method)
    ):
        return True
    if re.search(
        rf"(ModuleList|ModuleDict|Sequential)\(\s*\*?{bare}\b|add_module|register_module|setattr\(", text
    ):
        return True
    if re.search(rf"{bare}\[[^\]]*\]\.load\w*\(", text):
        return True  # each is handed its own weights
    if len(re.findall(rf"{bare}\s*(?::[^=\n]+)?=[^=]", text)) > 1:
        return True
    forward = cls.methods.get("forward")
    return forward is None or not any(dotted_name(node) == name for node in walk(forward))
