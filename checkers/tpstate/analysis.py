"""Running the interpreter over a project: every module class once on its own, entering what it builds."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from ..facts.module import ClassFacts
from ..facts.nodes import as_code
from ..language import tr
from ..project.project import NotYet, Project
from . import attributes, building, calls, configurations, expressions
from .callables import Bound, Func, Partial
from .demand import Demand, worth_running
from .events import Built, Log
from .frames import Frame, OutOfFuel
from .interpreter import Interpreter
from .states import State
from .summaries import Summaries
from .symbols import Poly
from .values import UNKNOWN, Cls, Const, Known, Obj, Seq, Sym, Tensor, Value

FUEL, GUIDE_FUEL = 60_000, 60_000
"""Steps for one class. The guide's stages hold whole models; elsewhere each layer is run on its own as well."""

PLAIN_FUEL, METHOD_FUEL = 5_000, 20_000
"""Steps for a class that holds no parallel layer, enough for its wiring, and at least for a method that calls one."""


class Analysis:
    """The events of one project, computed on first use."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.interpreter = Interpreter(project)
        self.objects: dict[int, tuple[ClassFacts, Obj]] = {}
        self._defaults: dict[tuple[int, str], list[Built]] = {}
        self._done = False
        self._parallel: set[int] = set()
        self.steps = 0

    @property
    def log(self) -> Log:
        """What was seen; everything is run on first use."""
        self.run_all()
        return self.interpreter.log

    def run_all(self, progress: Callable[[str, int, int], None] | None = None) -> None:
        """Run every class that is worth it, once."""
        if self._done:
            return
        if self.project.is_withheld:
            raise NotYet
        self._done = True
        classes, self._parallel = worth_running(self.project)
        if not self.project.follows_guide:  # the guide's report lists every module below a stage
            self.interpreter.needed = Demand(self.project, classes).needed
        for index, cls in enumerate(classes):
            self.run(cls)
            if progress is not None:
                progress(tr("following the tensors"), index + 1, len(classes))
        self.project.read_for_analysis = self.project.read

    def built(self) -> Iterator[tuple[ClassFacts, Obj]]:
        """Every class that was run on its own, with the instance built from unknown arguments."""
        self.run_all()
        yield from self.objects.values()

    def follow(self, cls: ClassFacts) -> None:
        """Build a class to the end that had too few steps for it, as classes without parallel layers may have.

        What is seen on the way is no part of the log.
        """
        self.run_all()
        if id(cls) not in self.objects:
            log, self.interpreter.log = self.interpreter.log, Log()
            self._parallel.add(id(cls))
            try:
                self.run(cls)
            finally:
                self.interpreter.log = log

    def run(self, cls: ClassFacts) -> None:
        """Build the class with unknown arguments and run its methods, forward first."""
        interp = self.interpreter
        interp.root, interp.depth = cls, 0
        fuel = GUIDE_FUEL if self.project.follows_guide else FUEL
        if id(cls) not in self._parallel:
            fuel = PLAIN_FUEL
        interp.fuel, interp.shares = fuel, []
        self._stand(cls)
        interp.equal.clear()
        interp.whole.clear()
        try:
            obj = self._build(cls)
            self.objects[id(cls)] = (cls, obj)
            self._run_methods(cls, obj)
        except OutOfFuel:
            if id(cls) in self._parallel:
                interp.log.exhausted.append(cls)
        except RecursionError:
            interp.log.exhausted.append(cls)
        except Exception as error:  # one class must not take the others down with it
            interp.log.failed.append((cls, " ".join(f"{type(error).__name__}: {error}".split())))
        self.steps += fuel - interp.fuel

    def _stand(self, cls: ClassFacts) -> None:
        """At the start of a run: nothing is known, nothing is open."""
        interp = self.interpreter
        interp.frame, interp.depth, interp.catching = Frame(cls.module), 0, 0
        interp.branch, interp.choice = {}, {}
        interp.journals, interp.exits, interp.reads, interp.shares = [], [], [], []

    def built_by_default(
        self,
        cls: ClassFacts,
        stop_at: Callable[[Obj, ast.FunctionDef], bool],
        given: Mapping[str, Any] = MappingProxyType({}),
    ) -> list[Built]:
        """What a class builds with the default values of its arguments, down to the modules `stop_at` names.

        `given` are plain values (numbers, texts, tuples of them) that replace defaults, None one that is not known.
        Arguments without a value stay unknown. What is seen on the way is no part of the log.
        """
        key = (id(cls), repr(sorted(given.items())))
        if key not in self._defaults:
            self.run_all()
            interp = self.interpreter
            log, interp.log, interp.stop_at = interp.log, Log(), stop_at
            twins, interp.twins = interp.twins, Summaries()
            interp.root, interp.fuel, interp.shares, interp.depth = cls, GUIDE_FUEL, [], 0
            self._stand(cls)
            interp.memo.clear()
            interp.equal.clear()
            interp.whole.clear()
            found = self.project.method(cls, "__init__")
            required = _required(found[1]) if found is not None else []
            node = ast.copy_location(ast.Name(cls.name, ast.Load()), cls.node)
            try:
                kwargs: dict[str, Value] = {
                    name: Sym.named(name, *attributes.tags_for(name)) for name in (*required, *given)
                }
                kwargs.update({name: _value(value) for name, value in given.items() if value is not None})
                building.construct(interp, Cls(cls.dotted, cls), (), kwargs, node, as_root=True)
            except (OutOfFuel, RecursionError):
                interp.log.events.clear()
            finally:
                built = [event for event in interp.log.events if isinstance(event, Built)]
                interp.log, interp.stop_at, interp.twins = log, None, twins
            self._defaults[key] = built
        return self._defaults[key]

    def _build(self, cls: ClassFacts) -> Obj:
        interp = self.interpreter
        node = ast.copy_location(ast.Name(cls.name, ast.Load()), cls.node)
        found = self.project.method(cls, "__init__")
        args, kwargs = (
            ((), {}) if found is None else self.unknown_arguments(found[0], found[1], constructor=True)
        )
        value = building.construct(interp, Cls(cls.dotted, cls), args, kwargs, node, as_root=True)
        return value if isinstance(value, Obj) else Obj(Cls(cls.dotted, cls))

    def _run_methods(self, cls: ClassFacts, obj: Obj) -> None:
        first = (
            "set_input_tensor",
            "forward",
        )  # the pipeline schedule hands a stage its input, then calls it
        for name in first:
            self._run_method(cls, obj, name)
        for name in cls.methods:
            if name not in first and (not name.startswith("__") or name == "__call__"):
                self._run_on_its_own(cls, obj, name)

    def _run_on_its_own(self, cls: ClassFacts, obj: Obj, name: str) -> None:
        """Run a method that the forward did not come by, on steps of its own: few where it names no parallel layer."""
        interp, left = self.interpreter, self.interpreter.fuel
        layers = [
            attr for attr, held in obj.attrs.items() if isinstance(held, Obj) and held.provider is not None
        ]
        text = cls.module.text_of(cls.methods[name])
        calls_layers = interp.needed is None or any(attr in text for attr in layers)
        given = max(left, METHOD_FUEL) if calls_layers else min(left, PLAIN_FUEL)
        interp.fuel = given
        try:
            self._run_method(cls, obj, name, unless_visited=True)
        except OutOfFuel:
            if calls_layers:
                raise
            self._stand(cls)
        finally:
            self.steps += given - interp.fuel
            interp.fuel = left

    def _run_method(self, cls: ClassFacts, obj: Obj, name: str, unless_visited: bool = False) -> None:
        found = self.project.method(cls, name)
        if found is None or _is_property(found[1]):
            return
        if unless_visited and id(found[1]) in self.interpreter.visited:
            return
        args, kwargs = self.unknown_arguments(found[0], found[1], constructor=False)
        func = Func(found[1], found[0].module, None, found[0])
        node = ast.copy_location(ast.Name(name, ast.Load()), found[1])
        is_of_class = any(as_code(d) == "classmethod" for d in found[1].decorator_list)
        bound = Bound(func, obj.cls if is_of_class else obj)
        calls.call(self.interpreter, func if _is_static(found[1]) else bound, args, kwargs, node)

    def unknown_arguments(
        self, holder: ClassFacts, method: ast.FunctionDef, constructor: bool
    ) -> tuple[tuple[Value, ...], dict[str, Value]]:
        """Arguments nothing is known of but their names: numbers for a constructor, tensors for a forward."""
        spec = method.args
        names = [*spec.posonlyargs, *spec.args]
        if not _is_static(method):
            names = names[1:]
        defaults: dict[str, ast.expr | None] = dict(
            zip([arg.arg for arg in reversed(names)], reversed(spec.defaults), strict=False)
        )
        defaults.update(zip([arg.arg for arg in spec.kwonlyargs], spec.kw_defaults, strict=True))
        kwargs: dict[str, Value] = {}
        for arg in (*names, *spec.kwonlyargs):
            kwargs[arg.arg] = self._unknown(holder, arg, defaults.get(arg.arg), constructor)
        if spec.kwarg is not None:
            kwargs["**"] = UNKNOWN
        if spec.vararg is not None:
            kwargs["*"] = UNKNOWN
        return (), kwargs

    def _unknown(
        self, holder: ClassFacts, arg: ast.arg, default: ast.expr | None, constructor: bool
    ) -> Value:
        if default is not None and not isinstance(default, ast.Constant | ast.Tuple | ast.List | ast.UnaryOp):
            value = expressions.evaluate(self.interpreter, Frame(holder.module), default)
            if isinstance(value, Cls | Func | Known | Partial):
                return value  # a class or function to build with; of other values a default is no fact
        annotation = as_code(arg.annotation) if arg.annotation is not None else ""
        plain = annotation.split("[")[0].split("|")[0].strip() in (
            "int",
            "float",
            "bool",
            "str",
            "tuple",
            "list",
            "dict",
        )
        if constructor or default is not None or plain or "Optional" in annotation:
            told = configurations.class_tag(self.project, holder, arg.annotation) if not plain else ()
            return Sym.named(arg.arg, *attributes.tags_for(arg.arg), *told)
        return Tensor(State.UNKNOWN, width=Poly.atom(f"|{arg.arg}.width"), tag="argument")


def _value(given: Any) -> Value:
    """A plain value as the interpreter holds it."""
    return Seq(tuple(map(_value, given))) if isinstance(given, tuple | list) else Const(given)


def _required(method: ast.FunctionDef) -> list[str]:
    """Parameters without a default, `self` left out."""
    spec = method.args
    names = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    keyword_only = [
        arg.arg for arg, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default is None
    ]
    return names[1 : len(names) - len(spec.defaults)] + keyword_only


def _is_property(method: ast.FunctionDef) -> bool:
    return any(
        as_code(d).rsplit(".", 1)[-1] in ("property", "cached_property") for d in method.decorator_list
    )


def _is_static(method: ast.FunctionDef) -> bool:
    """Whether a method gets no object: by its decorator, or as one whose first parameter is another's name."""
    names = [arg.arg for arg in (*method.args.posonlyargs, *method.args.args)]
    return building.is_static(method) or (
        not method.decorator_list and bool(names) and not re.search("self|cls|this", names[0])
    )
