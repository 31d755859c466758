"""Where things happen: which module runs, where it was built, and which line of the user's tree failed."""

from __future__ import annotations

import functools
import inspect
import sys
import traceback
import weakref
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import torch
from torch import nn
from torch.nn.modules import module as torch_module
from torch.overrides import TorchFunctionMode

from .plan import Plan
from .results import Finding
from .symptoms import rule_of

_OWN = str(Path(__file__).parent)
_base = Path.cwd()


def show_from(folder: Path) -> None:
    """Messages name files relative to this folder, whatever the working folder is by then."""
    global _base
    _base = folder
    shown.cache_clear()


@functools.cache
def shown(path: str | Path) -> str:
    """A path relative to the folder of the command where it lies below it."""
    path = Path(path)
    return str(path.relative_to(_base)) if path.is_relative_to(_base) else str(path)


class Tracker:
    """Watches constructors and forwards of this process."""

    def __init__(self, plan: Plan) -> None:
        folders = [*plan.roots, *plan.renamed.values(), str(Path(plan.script).parent)]
        self.folders = [Path(folder).resolve() for folder in folders]
        self.owned: dict[str, bool] = {}
        self.built: dict[int, tuple[str, int]] = {}
        self.arguments: dict[int, dict] = {}
        self.running: list[tuple[nn.Module, str]] = []
        self.taken: list[object] = []
        self.failed_on: list[object] = []
        self.names: dict[int, str] = {}
        self.failed_in: list[tuple[nn.Module, str]] = []
        self.modes: list[TorchFunctionMode] = []
        self.entered: list[int] = []
        self.with_gradients = True
        self.makers: dict[int, tuple[weakref.ref[torch.Tensor], nn.Module]] = {}  # held, a tensor would count

    def install(self) -> None:
        """From here on."""
        make = nn.Module.__init__

        def init(module, *args, **kwargs) -> None:
            self._seen(module, sys._getframe(1))
            make(module, *args, **kwargs)

        nn.Module.__init__ = init
        torch_module.register_module_forward_pre_hook(self._enter)
        torch_module.register_module_forward_hook(self._leave, always_call=True)

    def name(self, root: nn.Module) -> None:
        """Know the modules below `root` by their paths."""
        self.names |= {id(module): name for name, module in root.named_modules()}

    def owns(self, file: str) -> bool:
        """Whether a file is the user's."""
        known = self.owned.get(file)
        if known is None:
            is_other = file.startswith(("<", _OWN)) or "site-packages" in file
            known = not is_other and any(Path(file).is_relative_to(folder) for folder in self.folders)
            self.owned[file] = known
        return known

    def _seen(self, module: nn.Module, frame: FrameType | None) -> None:
        """Note where `module` is built and with what: its own constructors are the frames whose `self` it is."""
        outermost = None
        while frame is not None and frame.f_code.co_name in ("__init__", "init"):
            if next(iter(frame.f_locals.values()), None) is not module:
                break
            outermost, frame = frame, frame.f_back
        while frame is not None and not self.owns(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is not None:
            self.built[id(module)] = (frame.f_code.co_filename, frame.f_lineno)
        if outermost is not None:
            code = outermost.f_code
            names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
            values = {name: outermost.f_locals[name] for name in names if name in outermost.f_locals}
            self.arguments[id(module)] = values

    def _enter(self, module: nn.Module, args) -> None:
        if self.modes and torch._C._len_torch_function_stack() == 0:
            for mode in self.modes:  # backward runs without them, and what it recomputes must not
                mode.__enter__()
            self.entered.append(len(self.running))
        self.with_gradients = self.with_gradients and torch.is_grad_enabled()
        self.running.append((module, _type(args)))
        self.taken.append(args[0] if args else None)

    def _leave(self, module: nn.Module, args, output) -> None:
        if sys.exc_info()[0] is not None:
            if not self.failed_in:
                self.failed_in, self.failed_on = list(self.running), list(self.taken)
        elif isinstance(output, torch.Tensor) and output.is_meta and id(module) in self.names:
            known = self.makers.get(id(output))
            if known is None or known[0]() is not output:  # an id comes again once its tensor is gone
                self.makers[id(output)] = (weakref.ref(output), module)
        if self.running and self.running[-1][0] is module:
            self.running.pop()
            self.taken.pop()
        if self.entered and self.entered[-1] == len(self.running):
            self.entered.pop()
            for mode in reversed(self.modes):
                mode.__exit__(None, None, None)

    def innermost(self) -> nn.Module | None:
        """The innermost module under way that has a path."""
        return next((module for module, _ in reversed(self.running) if id(module) in self.names), None)

    def reset(self) -> None:
        """Forget what ran before."""
        self.running, self.failed_in, self.entered = [], [], []
        self.taken, self.failed_on = [], []
        self.makers.clear()
        self.with_gradients = True

    def failure(self, error: BaseException, kind: str, stage: int | None, rank: int) -> Finding:
        """An exception as a finding."""
        frames = [f for f in traceback.extract_tb(error.__traceback__) if self.owns(f.filename)]
        if isinstance(error, SyntaxError) and error.filename:
            frames.append(traceback.FrameSummary(error.filename, error.lineno or 0, ""))
        cause = error.__cause__
        while cause is not None:
            inner = [f for f in traceback.extract_tb(cause.__traceback__) if self.owns(f.filename)]
            frames, cause = [*frames, *inner], cause.__cause__
        modules = self.failed_in or self.running
        module, given = modules[-1] if modules else (None, "")
        path = self.names.get(id(module), "") if module is not None else ""
        for outer, text in reversed(modules):  # a layer of the framework has no path of the user's
            if not path:
                path, module, given = self.names.get(id(outer), ""), outer, text
        maker = self._maker()
        made = tuple(place for place in (self.place_of(maker), self.built_at(maker)) if place[0])
        if made and given:
            given += f", made by {type(maker).__name__} ({made[0][0]}:{made[0][1]})"
        message = f"{type(error).__name__}: {' '.join(str(error).split())[:400]}{_hint(error)}"
        return Finding(
            kind,
            message,
            stage,
            (rank,),
            path,
            type(module).__name__ if module is not None else "",
            given,
            shown(frames[-1].filename) if frames else "",
            frames[-1].lineno or 0 if frames else 0,
            rule_of(error, modules, frames),
            tuple(f"{shown(f.filename)}:{f.lineno} in {f.name}" for f in reversed(frames[:-1]))[:6],
            (*made, *((shown(f.filename), f.lineno or 0) for f in reversed(frames[:-1]))),
        )

    def _maker(self) -> nn.Module | None:
        """The module that made what the failing one was given."""
        for tensor in reversed(self.failed_on or self.taken):
            made = self.makers.get(id(tensor))
            if made is not None and made[0]() is tensor:
                return made[1]
        return None

    def place_of(self, module: nn.Module | None) -> tuple[str, int]:
        """The line of a module's forward in the user's tree, else the line that builds it."""
        if module is None:
            return "", 0
        for cls in type(module).__mro__:
            method = cls.__dict__.get("forward")
            code = getattr(inspect.unwrap(method), "__code__", None) if method is not None else None
            if code is not None:
                if self.owns(code.co_filename):
                    return shown(code.co_filename), code.co_firstlineno
                break
        return self.built_at(module)

    def built_at(self, module: nn.Module | None) -> tuple[str, int]:
        """The line that builds a module."""
        file, line = self.built.get(id(module), ("", 0))
        return (shown(file), line) if file else ("", 0)

    def places_around(self, root: nn.Module, path: str) -> tuple[tuple[str, int], ...]:
        """Where the module at `path` and those around it are written and built, nearest first."""
        found: list[tuple[str, int]] = []
        while True:
            module = _at(root, path)
            found += [place for place in (self.place_of(module), self.built_at(module)) if place[0]]
            if not path:
                return tuple(dict.fromkeys(found))
            path = path.rpartition(".")[0]


def _hint(error: BaseException) -> str:
    """What to do about an error that is not of the code."""
    if isinstance(error, MemoryError) or "can't allocate memory" in str(error):
        return " (it takes more memory than --memory allows)"
    if isinstance(error, FileNotFoundError):
        return " (the model is built here, so what it reads must be there)"
    return ""


def _at(root: nn.Module, path: str) -> nn.Module | None:
    try:
        return root.get_submodule(path)
    except AttributeError:
        return None


def _type(value: object, depth: int = 0) -> str:
    """A value in a few words: its type, and shape and dtype of a tensor."""
    if isinstance(value, torch.Tensor):
        return f"Tensor{list(value.shape)} {str(value.dtype).removeprefix('torch.')}"
    if isinstance(value, tuple | list) and depth < 2:
        return (
            ", ".join(_type(item, depth + 1) for item in value[:4])
            if depth == 0
            else (f"{type(value).__name__}({', '.join(_type(item, depth + 1) for item in value[:4])})")
        )
    return type(value).__name__


def describe(values: Sequence) -> str:
    """Types of several values."""
    return _type(tuple(values))
