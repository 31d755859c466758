"""What a loss function returns, as far as its text tells: a mean, a count of values, a float count, a lone report."""

from __future__ import annotations

import ast
import re

from ..facts.nodes import as_code, walk
from .loss_binding import LossBinding
from .project import dotted_name
from .scopes import Scope
from .training import TrainingScript

MEAN = "a mean"

_MEAN_CALLS = frozenset(
    "mse_loss l1_loss smooth_l1_loss huber_loss MSELoss L1Loss SmoothL1Loss HuberLoss".split()
)
_KEEPS = frozenset("detach clone float view reshape squeeze contiguous to cuda".split())
_RESHAPED = frozenset("view reshape clone unsqueeze flatten".split())
_WHOLE = frozenset("int long round item numel bool".split())
_SAMPLES = re.compile(r"(^|[._])((micro|global|train|mini)_)?batch_?size$")
_MAX_STEPS = 6


def _followed(node: ast.expr, scope: Scope, steps: int = 0) -> ast.expr:
    """What a name stands for, where it is bound once."""
    bound = scope.value(node.id) if isinstance(node, ast.Name) and steps < _MAX_STEPS else None
    return node if bound is None else _followed(bound, scope, steps + 1)


def _method(node: ast.expr) -> str:
    """The name of a call: the last part of what is called."""
    if not isinstance(node, ast.Call):
        return ""
    func = node.func.func if isinstance(node.func, ast.Call) else node.func
    return func.attr if isinstance(func, ast.Attribute) else (dotted_name(func) or "")


def loss_kind(script: TrainingScript, node: ast.expr, scope: Scope, steps: int = 0) -> str:
    """MEAN where a loss is a mean over all values, else empty."""
    node = _followed(node, scope)
    name = _method(node)
    if steps > _MAX_STEPS or not isinstance(node, ast.Call):
        return ""
    if name == "mean" and not node.args and not node.keywords:
        return MEAN
    made = node.func if isinstance(node.func, ast.Call) else node
    if name in _MEAN_CALLS:
        return (
            ""
            if any(keyword.arg in ("reduction", "reduce", "size_average") for keyword in made.keywords)
            else MEAN
        )
    function = script.function(node.func, scope) if dotted_name(node.func) else None
    if function is None or function.function is None:
        return ""
    named = {_method(part) for part in function.nodes if isinstance(part, ast.Call)}
    if "mean" in named and not named & {"sum", "numel"}:
        return MEAN  # of several means, weighted
    values = [part.value for part in function.nodes if isinstance(part, ast.Return)]
    kinds = {loss_kind(script, value, function, steps + 1) if value is not None else "" for value in values}
    return kinds.pop() if len(kinds) == 1 else ""


def counts_values(node: ast.expr, scope: Scope) -> bool:
    """Whether a token count is the number of values of a tensor: `output.numel()`, in a tensor or not."""
    node = _followed(node, scope)
    return any(_method(part) == "numel" for part in walk(node) if isinstance(part, ast.Call))


def float_count(binding: LossBinding, node: ast.expr, scope: Scope) -> str:
    """How a token count is seen to be floating: a sum of what the step makes a float; empty where it is not."""
    node = _followed(node, scope)
    if _makes_float(node):
        return f"`{ast.unparse(node)}`"
    if _method(node) != "sum" or any(
        _method(part) in _WHOLE for part in walk(node) if isinstance(part, ast.Call)
    ):
        return ""
    if any(isinstance(part, ast.keyword) and part.arg == "dtype" for part in walk(node)):
        return ""
    names = [part.id for part in walk(node) if isinstance(part, ast.Name)]
    given = [value for name in names if (value := _given(binding, name)) is not None]
    if len(names) != 1 or len(given) != 1:
        return ""
    made = _bound(given[0], binding.scope)
    return f"`{ast.unparse(made[0])}`" if made and all(_is_float(value) for value in made) else ""


def _makes_float(node: ast.expr) -> bool:
    """A new tensor of floats: `torch.ones(())`, or `torch.tensor` of an expression with a float in it."""
    name = (dotted_name(node.func) or "") if isinstance(node, ast.Call) else ""
    if not isinstance(node, ast.Call) or any(word.arg in ("dtype", None) for word in node.keywords):
        return False
    if name in ("torch.ones", "torch.zeros"):
        return True
    parts = walk(node.args[0]) if name in ("torch.tensor", "torch.as_tensor") and node.args else []
    if any(isinstance(part, ast.Call) for part in parts):
        return False
    return any(isinstance(part, ast.Constant) and type(part.value) is float for part in parts)


def _given(binding: LossBinding, name: str) -> ast.expr | None:
    """What a `partial` hands to a parameter of the loss function."""
    if name in binding.named:
        return binding.named[name]
    spec = binding.function.args
    names = [arg.arg for arg in (*spec.posonlyargs, *spec.args)]
    at = names.index(name) if name in names else len(binding.bound)
    return binding.bound[at] if at < len(binding.bound) else None


def _bound(node: ast.expr, scope: Scope) -> list[ast.expr]:
    """Every value a name is given in a function, None left out."""
    if not isinstance(node, ast.Name):
        return [node]
    return [
        value
        for value in scope.bound.get(node.id, [])
        if not (isinstance(value, ast.Constant) and value.value is None)
    ]


def _is_float(node: ast.expr) -> bool:
    name = _method(node)
    if name in ("float", "double", "half", "bfloat16"):
        return isinstance(node, ast.Call) and not node.args
    keeps = name in _KEEPS and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return (
        keeps
        and isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and _is_float(node.func.value)
    )


def lone_report(node: ast.expr, loss: ast.expr, scope: Scope) -> str:
    """How a reported value is a single one: a `number` of Python, or the `tensor` of the loss; else empty."""
    node = _followed(node, scope)
    if _method(node) == "item" or (isinstance(node, ast.Call) and dotted_name(node.func) == "float"):
        return "number"
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _KEEPS:
        node = node.func.value
    same = isinstance(node, ast.Name) and isinstance(loss, ast.Name) and node.id == loss.id
    return "tensor" if same else ""


def keeps_graph(node: ast.expr, loss: ast.expr, scope: Scope) -> bool:
    """Whether a report is made of the loss itself, never detached: `torch.cat([loss.view(1), count.view(1)])`."""
    node = _followed(node, scope)
    if not isinstance(node, ast.Call) or (dotted_name(node.func) or "").rsplit(".", 1)[-1] not in (
        "cat",
        "stack",
    ):
        return False
    around = [as_code(part.context_expr) for other in scope.of(ast.With) for part in other.items]
    if any("no_grad" in text or "inference_mode" in text for text in around):
        return False
    parts = node.args[0].elts if node.args and isinstance(node.args[0], ast.List | ast.Tuple) else []
    for part in parts:
        while isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            if part.func.attr not in _RESHAPED:
                break
            part = part.func.value
        if isinstance(part, ast.Name) and isinstance(loss, ast.Name) and part.id == loss.id:
            return True
    return False


def is_zero(node: ast.expr, scope: Scope) -> bool:
    """Whether a token count is a new tensor of zeros."""
    node = _followed(node, scope)
    return _holds(node, 0) or _method(node) in ("zeros", "new_zeros", "zeros_like")


def is_one(node: ast.expr, scope: Scope) -> bool:
    """Whether a token count is that of one mean: a new tensor of one."""
    node = _followed(node, scope)
    is_filled = isinstance(node, ast.Call) and bool(node.args) and _method(node) in ("ones", "new_ones")
    return _holds(node, 1) or (is_filled and as_code(node.args[0]) in ("()", "1", "[]"))  # type: ignore[attr-defined]


def _holds(node: ast.expr, number: int) -> bool:
    """Whether `torch.tensor` makes a tensor of this number."""
    is_made = isinstance(node, ast.Call) and dotted_name(node.func) in ("torch.tensor", "torch.as_tensor")
    first = node.args[0] if is_made and isinstance(node, ast.Call) and node.args else None
    return isinstance(first, ast.Constant) and first.value == number


def turned_report(
    node: ast.expr, loss: ast.expr, count: ast.expr, scope: Scope
) -> ast.List | ast.Tuple | None:
    """The two parts of a report where the count stands before the loss: `torch.cat([count.view(1), loss.view(1)])`."""
    node = _followed(node, scope)
    if _method(node) not in ("cat", "stack") or not isinstance(node, ast.Call) or not node.args:
        return None
    parts = node.args[0]
    if (
        not isinstance(parts, ast.List | ast.Tuple)
        or not isinstance(loss, ast.Name)
        or not isinstance(count, ast.Name)
    ):
        return None
    names = [{part.id for part in walk(whole) if isinstance(part, ast.Name)} for whole in parts.elts]
    return parts if names == [{count.id}, {loss.id}] else None


def times_samples(script: TrainingScript, value: ast.expr, scope: Scope) -> tuple[ast.expr, ast.expr] | None:
    """What a loss function returns first, where it is a mean times a batch size: the product, and the mean.

    Only where no count is returned, or that of one mean.
    """
    parts = value.elts if isinstance(value, ast.Tuple) and len(value.elts) in (2, 3) else []
    if not parts or (len(parts) == 3 and not is_one(parts[1], scope)):
        return None
    made = _followed(parts[0], scope)
    if isinstance(made, ast.BinOp) and isinstance(made.op, ast.Mult):
        for mean, factor in ((made.left, made.right), (made.right, made.left)):
            if _SAMPLES.search(as_code(factor)) and loss_kind(script, mean, scope) == MEAN:
                return made, mean
    return None


def made_on_cpu(node: ast.Call) -> bool:
    """Whether a tensor is made without a device: `torch.ones((), dtype=torch.int)`."""
    if any(word.arg in ("device", None) for word in node.keywords):
        return False
    return dotted_name(node.func) in ("torch.ones", "torch.tensor", "torch.full", "torch.zeros")


def joins(node: ast.expr, loss: ast.expr, count: ast.expr | None, scope: Scope) -> bool:
    """Whether a report is one tensor of the loss and its count, neither brought to another device."""
    node = _followed(node, scope)
    if (
        _method(node) not in ("cat", "stack")
        or not isinstance(loss, ast.Name)
        or not isinstance(count, ast.Name)
    ):
        return False
    if any(word in as_code(node) for word in (".cuda(", ".to(", ".cpu(")):
        return False
    return {loss.id, count.id} <= {part.id for part in walk(node) if isinstance(part, ast.Name)}
