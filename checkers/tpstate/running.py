"""Running functions of the tree: frames, arguments, returns."""

from __future__ import annotations

import ast

from ..facts.nodes import walk
from . import binding, budget, expressions, library_calls, recall, statements
from .callables import Func
from .choices import Choice, choose
from .events import Event, Rejected
from .frames import Frame
from .interpreter import MAX_DEPTH, MAX_SAME_FUNCTION, Interpreter
from .providers import dispatches
from .values import NONE, UNKNOWN, Cls, Const, Heap, Kwargs, NothingReturned, Obj, Seq, Sym, Tensor, Value


def run_function(
    interp: Interpreter, func: Func, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    """Run a function of the tree on abstract arguments."""
    times, outermost = _times_running(interp, func.node)
    if interp.depth >= MAX_DEPTH or times >= MAX_SAME_FUNCTION:
        recall.cut(interp, outermost if times >= MAX_SAME_FUNCTION else 0)
        return UNKNOWN
    if func.owner is not None and dispatches(func.owner):
        return _run_native(interp, func, args, kwargs, node)
    special = library_calls.special_function(interp, func, args, kwargs, node)
    if special is not None:
        return special
    if isinstance(func.node, ast.FunctionDef) and (
        interp.is_opaque(func.module) or _is_generator(interp, func)
    ):
        return UNKNOWN
    run = _run_plain if func.owner is None and func.closure is None else _run_bound
    return budget.within(interp, func, lambda: run(interp, func, args, kwargs, node))


def _run_native(
    interp: Interpreter, func: Func, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    """A method of a base that picks a kernel when the job runs: its `forward` computes `forward_native`."""
    owner = args[0] if args else UNKNOWN
    if getattr(func.node, "name", "") not in ("forward", "__call__") or not isinstance(owner, Obj):
        return NONE
    facts = owner.cls.facts
    found = interp.project.method(facts, "forward_native") if facts is not None else None
    if found is None or dispatches(found[0]):
        return UNKNOWN
    return run_function(interp, Func(found[1], found[0].module, None, found[0]), args, kwargs, node)


def _run_plain(
    interp: Interpreter, func: Func, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    """A module-level function: the same numbers give the same result, so it is run once for each."""
    given = tuple(content_of(value) for value in (*args, *kwargs.values()))
    if not all(is_plain(value) for value in given):
        return _run_bound(interp, func, args, kwargs, node)
    whys = tuple(value.why for value in given if isinstance(value, Tensor))
    key = (id(func.node), given, whys, tuple(kwargs), bool(interp.catching))
    found = recall.recalled(interp, interp.pure, key)
    if found is not None:
        return found

    def lasts(result: Value, _: list[Event]) -> bool:
        unchanged = all(
            content_of(value) is old for value, old in zip((*args, *kwargs.values()), given, strict=True)
        )
        return unchanged and is_plain(result)

    return recall.recorded(
        interp, interp.pure, key, lambda: _run_bound(interp, func, args, kwargs, node), lasts
    )


def content_of(value: Value) -> Value:
    """What a list holds now, for comparing; any other value itself."""
    return value.content if isinstance(value, Heap) and value.kind == "list" else value


def is_plain(value: Value) -> bool:
    """Whether a value is a number, a name or a tuple of them: nothing that code could change."""
    if isinstance(value, Seq):
        return all(is_plain(item) for item in value.items) and (value.rest is None or is_plain(value.rest))
    if isinstance(value, Const):
        return isinstance(value.value, int | float | str | bool | None)
    if isinstance(value, Choice):
        return is_plain(value.then) and is_plain(value.other)
    return isinstance(value, Sym | Tensor | Cls) or value is UNKNOWN


def _run_bound(
    interp: Interpreter, func: Func, args: tuple[Value, ...], kwargs: Kwargs, node: ast.expr
) -> Value:
    assert interp.frame is not None
    defaults = Frame(func.module, {}, func.owner, None, func.closure)
    bound, problem = binding.bind(interp, defaults, func.node, args, kwargs)
    if problem is not None and not _looks_at_signatures(interp.frame):
        text, parameter = problem
        name = getattr(func.node, "name", "<lambda>")
        what = "constructor" if name == "__init__" else "forward" if name == "forward" else "function"
        interp.emit(
            Rejected, node, target=name, problem=text, what=what, holder=func.owner, parameter=parameter
        )
    frame = Frame(
        func.module,
        bound,
        func.owner,
        func.node,
        func.closure,
        interp.frame,
        interp.site(node),
        entry_conditions=frozenset({**interp.branch, **interp.choice}),
        serial=_frame_serial(interp, func, bound),
    )
    return run_frame(interp, frame)


def _looks_at_signatures(frame: Frame) -> bool:
    """Whether a function asks what others take before it calls them: it gives what is taken."""
    function = frame.function
    return isinstance(function, ast.FunctionDef) and "signature(" in frame.module.text_of(function)


def _frame_serial(interp: Interpreter, func: Func, bound: Kwargs) -> int:
    """Frames of one object share the text of open conditions, so that a flag read in two methods is one flag."""
    owner = bound.get("self")
    return owner.serial if isinstance(owner, Obj) else next(interp._serial)


def run_frame(interp: Interpreter, frame: Frame) -> Value:
    """Run the body of a prepared frame and join what it returns."""
    func = frame.function
    interp.made(frame.vars)
    outer, branch = interp.frame, interp.branch
    owner = frame.vars.get("self")
    known = owner.known if isinstance(owner, Obj) else {}
    interp.frame, interp.branch = frame, {**branch, **known}
    interp.depth += 1
    interp.visited.add(id(func))
    try:
        if isinstance(func, ast.Lambda):
            return expressions.evaluate(interp, frame, func.body)
        assert isinstance(func, ast.FunctionDef)
        flow = statements.run_block(interp, frame, func.body)
        if func.name == "__init__" and isinstance(owner, Obj):
            owner.known = {**known, **{key: side for key, side in interp.branch.items() if key not in branch}}
    finally:
        interp.depth -= 1
        interp.frame, interp.branch = outer, branch
    falls = flow is statements.Flow.NEXT
    return join_returns(frame, falls)


def join_returns(frame: Frame, falls_through: bool) -> Value:
    """The value of a call: every return under its conditions, None where the end is reached."""
    nothing: Value = NONE
    if getattr(frame.function, "name", "") == "forward" and frame.owner is not None:
        nothing = NothingReturned(None, f"{frame.owner.name}.forward")
    tail: Value | None = nothing if falls_through else None
    for conditions, value, node in reversed(frame.returns):
        forgotten = isinstance(node, ast.Return) and node.value is None
        # A None that is written out and depends on a condition is meant: callers are expected to know the condition.
        if forgotten or (value == NONE and not conditions):
            value = nothing
        if tail is None:
            tail = value
            continue
        joined = value
        for key, side in reversed(conditions.items()):
            joined = choose(key, joined, tail) if side else choose(key, tail, joined)
        tail = joined
    return tail if tail is not None else UNKNOWN


def _times_running(interp: Interpreter, node: ast.AST) -> tuple[int, int]:
    """How often a function is running already, and the depth at which it first does."""
    count, outermost = 0, 0
    frame, depth = interp.frame, interp.depth
    while frame is not None:
        if frame.function is node:
            count, outermost = count + 1, depth
        frame, depth = frame.parent, depth - 1
    return count, outermost


def _is_generator(interp: Interpreter, func: Func) -> bool:
    key = id(func.node)
    if key not in interp.generators:
        written = "yield" in func.module.words and "yield" in func.module.text_of(func.node)
        interp.generators[key] = written and any(
            isinstance(part, ast.Yield | ast.YieldFrom) for part in walk(func.node)
        )
    return interp.generators[key]
