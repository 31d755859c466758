"""Imports of the user's tree: its own folders first, names that stand for others, and stand-ins for what is missing."""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from pathlib import Path

from .plan import Plan

# Parts of Megatron's training package that the runtime of this project offers under the same names.
_TRAINING = {
    "training": "onescience_check.runtime.training",
    "training.arguments": "onescience_check.runtime.training.arguments",
    "training.global_vars": "onescience_check.runtime.flags",
    "training.training": "onescience_check.runtime.training",
}
_NOT_OURS = {"torch", "numpy", "megatron", "yaml"} | set(sys.stdlib_module_names)


class MissingModuleError(ImportError):
    """A stand-in was used."""


class _StandIn(types.ModuleType):
    """A module that is not there. Its names may be imported and inherited from; to call one says what is missing."""

    __path__: list[str] = []

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        value = _Nothing(f"{self.__name__}.{name}")
        setattr(self, name, value)
        return value


class _Nothing:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Nothing(f"{self._name}.{name}")

    def __mro_entries__(self, bases):
        return ()

    def __call__(self, *args, **kwargs):
        # As a decorator it leaves what it is given alone.
        if len(args) == 1 and not kwargs and isinstance(args[0], type | types.FunctionType):
            return args[0]
        raise MissingModuleError(f"{self._name} is needed here, but its package is not installed")


class _Loader(importlib.abc.Loader):
    """Hands out a module that is made already."""

    def __init__(self, module: types.ModuleType) -> None:
        self.module, self.kept = module, {}

    def create_module(self, spec):
        names = ("__spec__", "__loader__", "__package__", "__name__", "__path__", "__file__")
        self.kept = {name: getattr(self.module, name) for name in names if hasattr(self.module, name)}
        return self.module

    def exec_module(self, module) -> None:
        for name, value in self.kept.items():  # the import machinery has written the alias over them
            setattr(module, name, value)


class TreeFinder(importlib.abc.MetaPathFinder):
    """Finds what the plan says before anybody else does."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def find_spec(self, fullname, path=None, target=None):
        stands = dict.fromkeys(self.plan.stubs, "") | dict(self.plan.aliases)
        for name in sorted(stands, key=len, reverse=True):  # the most special first
            if fullname == name or fullname.startswith(f"{name}."):
                if not stands[name]:
                    return _spec(fullname, _StandIn(fullname))
                rest = fullname[len(name) + 1 :]
                return _alias(fullname, stands[name] + fullname[len(name) :], rest)
        for name, folder in sorted(self.plan.renamed.items(), key=lambda item: -len(item[0])):
            if fullname == name or fullname.startswith(f"{name}."):
                found = _file(Path(folder).joinpath(*fullname[len(name) + 1 :].split(".")), fullname)
                if found is not None and not fullname.startswith(__package__):
                    return found
        if fullname.startswith("megatron.training") and not _has_training():
            part = fullname.partition(".")[2]
            return _spec(fullname, importlib.import_module(_TRAINING[part])) if part in _TRAINING else None
        if "." not in fullname and fullname not in _NOT_OURS:
            for root in self.plan.roots:
                found = _file(Path(root) / fullname, fullname)
                if found is not None:
                    return found
        return None


class StandInFinder(importlib.abc.MetaPathFinder):
    """Asked last: a missing package that the user's file imports unguarded becomes a stand-in."""

    def __init__(self, plan: Plan) -> None:
        self.roots = [*map(Path, plan.roots), *map(Path, plan.renamed.values()), Path(plan.script).parent]

    def find_spec(self, fullname, path=None, target=None):
        if fullname == "ruamel.yaml" or fullname == "ruamel":
            return _spec(fullname, _ruamel() if fullname == "ruamel.yaml" else _StandIn(fullname))
        parent = sys.modules.get(fullname.rpartition(".")[0])
        if isinstance(parent, _StandIn):
            return _spec(fullname, _StandIn(fullname))
        if "." in fullname or any(_file(root / fullname, fullname) for root in self.roots):
            return None
        importer = _importer()
        if importer is None or not any(Path(importer[0]).is_relative_to(root) for root in self.roots):
            return None
        return None if _is_guarded(*importer) else _spec(fullname, _StandIn(fullname))


def install(plan: Plan) -> None:
    """Make the user's tree importable in this process."""
    sys.meta_path.insert(0, TreeFinder(plan))
    sys.meta_path.append(StandInFinder(plan))
    sys.path[:0] = [str(Path(plan.script).parent), *plan.roots]
    importlib.invalidate_caches()


@functools.cache
def _has_training() -> bool:
    """Whether Megatron's training package is installed; megatron-core comes without it."""
    import megatron

    return importlib.machinery.PathFinder.find_spec("megatron.training", megatron.__path__) is not None


def _spec(name: str, module: types.ModuleType):
    return importlib.machinery.ModuleSpec(name, _Loader(module), is_package=True)


def _alias(fullname: str, target: str, rest: str):
    """A spec that gives the very module `target`, so that both names share one state."""
    try:
        module = importlib.import_module(target)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{target}.".startswith(f"{error.name}."):
            raise
        if rest not in _TRAINING:
            return None
        module = importlib.import_module(_TRAINING[rest])
    return _spec(fullname, module)


def _file(base: Path, name: str):
    package = base / "__init__.py"
    if package.is_file():
        return importlib.util.spec_from_file_location(name, package, submodule_search_locations=[str(base)])
    module = base.with_name(f"{base.name}.py")
    if module.is_file():
        return importlib.util.spec_from_file_location(name, module)
    if base.is_dir() and any(base.rglob("*.py")):
        spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(base)]
        return spec
    return None


def _importer() -> tuple[str, int] | None:
    """File and line of the import statement under way."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if "importlib" not in file and file != __file__:
            return file, frame.f_lineno
        frame = frame.f_back
    return None


@functools.cache
def _guards(file: str) -> list[tuple[int, int]]:
    tree = ast.parse(Path(file).read_text("utf-8"))
    return [
        (node.lineno, node.body[-1].end_lineno or node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.Try) and node.handlers
    ]


def _is_guarded(file: str, line: int) -> bool:
    try:
        return any(first <= line <= last for first, last in _guards(file))
    except (OSError, SyntaxError, ValueError):
        return True


def _ruamel() -> types.ModuleType:
    """The little of ruamel.yaml that configuration readers use, by PyYAML."""
    import yaml

    class YAML:
        def __init__(self, *args, **kwargs) -> None:
            pass

        def load(self, stream):
            return yaml.safe_load(stream)

    module = types.ModuleType("ruamel.yaml")
    module.YAML = YAML
    return module
