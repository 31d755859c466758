"""What is worth running: the module classes that hold parallel layers, and the constructors they may depend on."""

from __future__ import annotations

import re

from ..facts.module import ClassFacts, Import, ModuleFacts
from ..facts.words import holds, lines_of
from ..project.project import External, FunctionRef, Project, ValueRef
from .providers import provider_for

_WORDS = re.compile(
    r"Parallel|Distributed|One[A-Z]\w*|_REGISTRY|build_module|tensor_parallel\.|tensor_model_parallel|parallel_region"
    r"|MultiheadAttention|set_input_tensor|parallel_cross_entropy|\btp_group|pg_collection|\bget_world_size\(|mesh\[|Linear1D_|ColumnLinear|RowLinear"
)

_PARALLEL_WORDS = re.compile(r"Parallel|Distributed|build_module|tensor_model_parallel|parallel_region")

_LAYERS = re.compile(r"(Column|Row)Parallel|ParallelLinear|_REGISTRY|build_module")

_MATTERS = re.compile(
    r"[Pp]arallel|[Dd]istributed|_REGISTRY|build_module|pg_collection|MultiheadAttention|set_input_tensor|\btp_|_tp\b|world_size|all_reduce|all_gather"
    r"|reduce_scatter"
)
"""What a class says that has to do with ranks, by itself: its constructor is run where it stands."""


def worth_running(project: Project) -> tuple[list[ClassFacts], set[int]]:
    """Module classes that hold parallel layers or registry wrappers, by themselves or through what they name; and
    the ids of those that may hold parallel layers.

    A training framework that is copied into another package is known by contract and not analysed itself. A folder
    that only has its name, `models/megatron`, may hold models of the tree.
    """
    vendored = re.compile("|".join(map(_copied, project.settings.framework)) or r"(?!)")
    modules = [
        cls for cls in project.classes() if not vendored.search(cls.module.name) and _is_module(project, cls)
    ]
    words = {id(cls): names_in(cls) | _names_of_mixins(project, cls) for cls in modules}
    made = _through_makers(project, modules, words)
    chosen = _closure(modules, words, made | {id(cls) for cls in modules if _says(project, cls, _WORDS)})
    parallel = _closure(
        [cls for cls in modules if not cls.name.startswith("One")],
        words,
        made | {id(cls) for cls in modules if _says(project, cls, _PARALLEL_WORDS)},
    )
    return [cls for cls in modules if id(cls) in chosen], parallel


def _says(project: Project, cls: ClassFacts, pattern: re.Pattern[str]) -> bool:
    own = (cls, *_mixins(project, cls))
    return any(holds(pattern, part.text, part.words) for part in own)


def _mixins(project: Project, cls: ClassFacts) -> list[ClassFacts]:
    """The bases of a class in the tree that are no modules themselves."""
    if len(cls.node.bases) < 2:
        return []
    return [
        base
        for base in project.mro(cls)[1:]
        if isinstance(base, ClassFacts) and not project.is_module_class(base)
    ]


def _names_of_mixins(project: Project, cls: ClassFacts) -> set[str]:
    return set().union(*map(names_in, _mixins(project, cls)))


def names_in(cls: ClassFacts) -> set[str]:
    """Each name that the text of a class holds, also in comments and strings."""
    if not cls.text.isascii():
        return set(re.findall(r"[A-Za-z_]\w*", cls.text))
    return {word if word[0] > "9" else word.lstrip("0123456789") for word in cls.words.split("\n") if word}


def _copied(prefix: str) -> str:
    """A pattern for the modules of a framework inside another package."""
    parts = r"\.(core|training|legacy|mpu)" if prefix == "megatron" else ""
    return rf"\.{re.escape(prefix)}{parts}(\.|$)"


def _closure(modules: list[ClassFacts], words: dict[int, set[str]], chosen: set[int]) -> set[int]:
    """The chosen classes and all that name one of them."""
    names = {cls.name for cls in modules if id(cls) in chosen}
    grew = True
    while grew:
        grew = False
        for cls in modules:
            used = words[id(cls)] & names
            if id(cls) not in chosen and any(word in cls.module.bindings for word in used):
                chosen.add(id(cls))
                names.add(cls.name)
                grew = True
    return chosen


def _is_module(project: Project, cls: ClassFacts) -> bool:
    """Whether a class is a module: by its own bases, or as a subclass of a parallel layer of a library."""
    if project.is_module_class(cls):
        return True
    return any(
        isinstance(base, External) and provider_for(project, base) is not None
        for base in project.mro(cls)[1:]
    )


def _through_makers(project: Project, modules: list[ClassFacts], words: dict[int, set[str]]) -> set[int]:
    """Classes that make layers through a helper, a table or another name, or whose layers the settings name."""
    makers = {id(module): _makers(module) for module in project.modules}
    everywhere = set().union(*makers.values())
    named = {row["name"].rsplit(".", 1)[-1] for row in project.settings.providers}
    return {
        id(cls)
        for cls in modules
        if words[id(cls)] & named
        or any(_leads_to_maker(project, cls, name, makers) for name in words[id(cls)] & everywhere)
    }


def _makers(module: ModuleFacts) -> set[str]:
    """Module-level names under which layers are made although the name does not say so: helper functions, other
    names of a layer class, tables and partials of them."""
    if not module.says(_LAYERS):
        return set()
    lines = lines_of(_LAYERS, module.text)
    found = set()
    for name, bindings in module.bindings.items():
        for binding in bindings:
            value = binding.value
            if isinstance(value, ClassFacts):
                continue
            if isinstance(value, Import):
                makes = _LAYERS.search(value.attr or "") is not None
            else:
                makes = any(value.lineno <= line <= (value.end_lineno or value.lineno) for line in lines)
            if makes and not _WORDS.search(name):
                found.add(name)
    return found


def _leads_to_maker(project: Project, cls: ClassFacts, name: str, makers: dict[int, set[str]]) -> bool:
    """Whether a name used in a class is one of those of its own module, or is imported from the module that has it."""
    if name in makers[id(cls.module)]:
        return True
    ref = project.resolve(cls.module, name)
    return isinstance(ref, FunctionRef | ValueRef) and name in makers.get(id(ref.module), ())


class Demand:
    """Which constructors are run where they stand. The others are run once something asks for what they set."""

    def __init__(self, project: Project, chosen: list[ClassFacts]) -> None:
        self._project = project
        self._chosen = {id(cls) for cls in chosen}
        self._names = {cls.name for cls in chosen}
        self._known: dict[int, bool] = {}

    def needed(self, cls: ClassFacts) -> bool:
        """Whether a constructor may build a parallel layer, or divide sizes among ranks."""
        if id(cls) not in self._known:
            self._known[id(cls)] = any(
                isinstance(entry, ClassFacts) and self._matters(entry) for entry in self._project.mro(cls)
            )
        return self._known[id(cls)]

    def _matters(self, cls: ClassFacts) -> bool:
        if id(cls) in self._chosen or _says(self._project, cls, _MATTERS):
            return True
        used = names_in(cls) & self._names
        return any(word in cls.module.bindings for word in used)
