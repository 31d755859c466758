"""What the expressions of a function do to the axes of its tensors."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..facts.nodes import as_code, children, walk
from .axis_names import Held, Names, Shape, Value, number_of
from .axis_sizes import Axis, Cut, fitted, has_heads, is_scalar, product
from .project import dotted_name

_WIDTHS = frozenset("hidden_size embed_dim d_model n_embd".split())

_KEEPS = frozenset(
    "contiguous clone float half bfloat16 double to type type_as detach softmax relu gelu sigmoid tanh exp cuda cpu "
    "masked_fill dropout".split()
)


@dataclass(frozen=True)
class Moved:
    """A view or reshape that needs axes in another order than they have in memory."""

    node: ast.Call
    wanted: str
    skipped: str

    @property
    def text(self) -> str:
        """The call as code."""
        return as_code(self.node)

    @property
    def tensor(self) -> str:
        """What is viewed, as code."""
        func = self.node.func
        is_torch = isinstance(func, ast.Attribute) and dotted_name(func.value) == "torch"
        inner = func.value if isinstance(func, ast.Attribute) and not is_torch else self.node.args[0]
        return as_code(inner)


@dataclass(frozen=True)
class Attended:
    """A product of queries and keys, or a call of torch's attention: what its operands are."""

    node: ast.expr
    query: Held
    key: Held
    is_kernel: bool
    all_channels: ast.expr | None = None


@dataclass(frozen=True)
class Regrouped:
    """A view whose axes are then permuted: the sizes, and where each axis goes."""

    view: ast.Call
    permute: ast.Call
    sizes: tuple[Axis, ...]
    order: tuple[int, ...]


@dataclass(eq=False)
class Values(Names):
    """Reads expressions, and keeps what is noteworthy about them."""

    moved: list[Moved] = field(default_factory=list)
    attended: list[Attended] = field(default_factory=list)
    regrouped: list[Regrouped] = field(default_factory=list)

    # -- values ----------------------------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> Value:
        if isinstance(node, ast.Name | ast.Attribute):
            return self._named(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.BinOp):
            return self._operation(node)
        if isinstance(node, ast.Tuple | ast.List):
            return [_single(self.value(part)) for part in node.elts]
        if isinstance(node, ast.Subscript):
            self.value(node.value)
            return None
        if isinstance(node, ast.GeneratorExp | ast.ListComp):
            return self._each(node)
        for child in children(node):
            if isinstance(child, ast.expr) and not isinstance(node, ast.Lambda):
                self.value(child)
        return None

    def _named(self, node: ast.Name | ast.Attribute) -> Held | Shape | None:
        if isinstance(node, ast.Attribute) and node.attr == "shape":
            held = _single(self.value(node.value))
            return Shape(held) if isinstance(held, Held) else None
        name = dotted_name(node)
        if name is None:
            if isinstance(node, ast.Attribute):
                self.value(node.value)
            return None
        value = self._env.get(name)
        if value is None:
            value = self._env[name] = Held()
        return value if isinstance(value, Held | Shape) else None

    def _each(self, node: ast.GeneratorExp | ast.ListComp) -> list[Held | Shape | None] | None:
        """`(f(x) for x in (q, k, v))`."""
        turn = node.generators[0]
        items = self.value(turn.iter) if isinstance(turn.iter, ast.Tuple | ast.List) else None
        if not isinstance(items, list) or len(node.generators) != 1 or not isinstance(turn.target, ast.Name):
            return None
        before = dict(self._env)
        found: list[Held | Shape | None] = []
        for index, item in enumerate(items):
            seen = len(self.moved)
            self._env = {**before, turn.target.id: item or Held()}
            found.append(_single(self.value(node.elt)))
            if index:
                del self.moved[seen:]
        self._env = before
        return found

    def _operation(self, node: ast.BinOp) -> Held | None:
        left, right = _single(self.value(node.left)), _single(self.value(node.right))
        left, right = (side if isinstance(side, Held) else None for side in (left, right))
        if isinstance(node.op, ast.MatMult):
            return self._matmul(node, left, right)
        if is_scalar(node.right):
            if left is not None and isinstance(node.op, ast.Mult | ast.Div):
                self._scaled(node.left, node.right)
            return left
        if is_scalar(node.left):
            return right
        if left is None or right is None or left.axes is None or right.axes is None:
            return None
        return left if left.axes == right.axes else None

    def _matmul(self, node: ast.expr, left: Held | None, right: Held | None) -> Held | None:
        if left is None or right is None or left.axes is None or right.axes is None:
            return None
        if len(left.axes) != len(right.axes) or len(left.axes) < 3 or right.assumed:
            return None
        self.attended.append(Attended(node, left, right, is_kernel=False))
        return Held((*left.axes[:-1], right.axes[-1]), attended=True)

    def _scaled(self, scores: ast.expr, by: ast.expr) -> None:
        if self.attended and self.attended[-1].node is scores:
            self.attended[-1] = replace(self.attended[-1], all_channels=self._all_channels(by))

    def _all_channels(self, scale: ast.expr | None) -> ast.expr | None:
        """The size that a scale takes the root of, where it is the width of all heads together."""
        for node in walk(scale) if scale is not None else ():
            if isinstance(node, ast.Subscript) and number_of(node.slice) == -1:
                shape = self.value(node.value)
                if isinstance(shape, Shape) and shape.of.axes is None and has_heads(shape.of.viewed):
                    return node
            name = (dotted_name(node) or "").rsplit(".", 1)[-1] if isinstance(node, ast.expr) else ""
            if name in _WIDTHS:
                return node if isinstance(node, ast.expr) else None
        return None

    # -- calls -----------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Value:
        func = node.func
        name = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
        if name == "scaled_dot_product_attention":
            return self._attention(node)
        is_torch = isinstance(func, ast.Attribute) and dotted_name(func.value) in (
            "torch",
            "F",
            "nn.functional",
        )
        if isinstance(func, ast.Attribute) and not is_torch:
            tensor, args = self.value(func.value), node.args
        else:
            tensor, args = (self.value(node.args[0]), node.args[1:]) if node.args else (None, [])
        for arg in (*args, *(keyword.value for keyword in node.keywords)):
            if not isinstance(arg, ast.Starred):
                self.value(arg)
        tensor = _single(tensor)
        if not isinstance(tensor, Held):
            return (
                self._viewed(node, Held(), args) if name in ("view", "reshape") and tensor is None else None
            )
        if name == "size" and not node.args and not node.keywords:
            return Shape(tensor)
        if name in ("view", "reshape"):
            return self._viewed(node, tensor, args)
        if name in ("matmul", "bmm") and len(args) == 1:
            other = _single(self.value(args[0]))
            return self._matmul(node, tensor, other if isinstance(other, Held) else None)
        return self._shaped(node, name, tensor, args)

    def _shaped(self, node: ast.Call, name: str, tensor: Held, args: list[ast.expr]) -> Held | None:
        if name in _KEEPS and (isinstance(node.func, ast.Attribute)):
            return tensor
        if tensor.axes is None:
            return None
        numbers = [number_of(arg) for arg in _listed(args)]
        count = len(tensor.axes)
        if node.keywords or None in numbers:
            return None
        order = [number % count for number in numbers if number is not None and -count <= number < count]
        if name == "permute" and sorted(order) == list(range(count)):
            if tensor.view is not None:
                self.regrouped.append(Regrouped(tensor.view, node, tensor.axes, tuple(order)))
            return Held(tuple(tensor.axes[index] for index in order), attended=tensor.attended)
        if name in ("transpose", "swapaxes") and len(order) == 2:
            axes = list(tensor.axes)
            axes[order[0]], axes[order[1]] = axes[order[1]], axes[order[0]]
            return Held(tuple(axes), attended=tensor.attended)
        if name == "flatten" and order:
            first, last = order[0], order[1] if len(order) > 1 else count - 1
            joined = product(tensor.axes[first : last + 1])
            return Held((*tensor.axes[:first], joined, *tensor.axes[last + 1 :])) if first <= last else None
        return None

    def _viewed(self, node: ast.Call, tensor: Held, args: list[ast.expr]) -> Held | None:
        parts = _listed(args)
        if len(parts) == 1 and not isinstance(parts[0], ast.Starred):
            shape = self.value(parts[0])
            if isinstance(shape, Shape):
                return self._restored(node, tensor, shape.of)
        if any(isinstance(part, ast.Starred) for part in parts) or node.keywords or not parts:
            if _exchanges_own(node, parts):
                self.moved.append(Moved(node, as_code(parts[-2]), as_code(parts[-1])))
            return None
        sizes = [self.axis(part) for part in parts]
        if any(size is None and not _is_rest(part) for size, part in zip(sizes, parts, strict=True)):
            return None
        if tensor.axes is None:
            found = tuple(size if size is not None else self.unknown() for size in sizes)
            tensor.viewed = tensor.viewed or found
            return Held(found, view=node)
        result = fitted(tensor.axes, sizes)
        if isinstance(result, Cut):
            self.moved.append(Moved(node, result.wanted, result.skipped))
            result = None
        elif result is not None and tensor.attended:
            for size, axis in zip(sizes, result, strict=True):
                if size is not None and len(size.parts) == 2 and axis.parts == size.parts[::-1]:
                    self.moved.append(Moved(node, *size.parts))
        return Held(
            result or tuple(size if size is not None else self.unknown() for size in sizes), view=node
        )

    def _restored(self, node: ast.Call, tensor: Held, of: Held) -> Held:
        """`out.reshape(shape)` of a shape taken before the tensor was viewed: the memory must lie as it did then."""
        before = of.viewed if of.axes is None else of.axes
        if before is not None and tensor.axes is not None:
            flat, there = (
                tuple("" if part.startswith("?") else part for part in product(axes).parts)
                for axes in (tensor.axes, before)
            )
            if flat != there and sorted(flat) == sorted(there):
                index = next(i for i, part in enumerate(flat) if part != there[i])
                self.moved.append(Moved(node, there[index], flat[index]))
        return of

    def _attention(self, node: ast.Call) -> Held | None:
        operands = [_single(self.value(arg)) for arg in node.args[:3] if not isinstance(arg, ast.Starred)]
        given = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        operands += [_single(self.value(given[name])) for name in ("query", "key", "value") if name in given]
        if len(operands) < 3 or not all(isinstance(part, Held) for part in operands):
            return None
        query, key, value = (part for part in operands[:3] if isinstance(part, Held))
        self.attended.append(Attended(node, query, key, True, self._all_channels(given.get("scale"))))
        if query.axes is None or value.axes is None:
            return None
        return Held((*query.axes[:-1], value.axes[-1]), attended=True)


def _single(value: object) -> Held | Shape | None:
    return value if isinstance(value, Held | Shape) else None


def _listed(args: Sequence[ast.expr]) -> Sequence[ast.expr]:
    """Sizes or axes, given one by one or as one tuple."""
    first = args[0] if len(args) == 1 else None
    return first.elts if isinstance(first, ast.Tuple | ast.List) else args


def _is_rest(node: ast.expr) -> bool:
    return number_of(node) == -1


def _exchanges_own(node: ast.Call, parts: Sequence[ast.expr]) -> bool:
    """`k.reshape(*k.shape[:-2], k.shape[-1], k.shape[-2])`."""
    func = node.func
    if not isinstance(func, ast.Attribute) or len(parts) != 3 or not isinstance(parts[0], ast.Starred):
        return False
    own = as_code(func.value)
    written = [as_code(part) for part in parts]
    return written == [f"*{own}.shape[:-2]", f"{own}.shape[-1]", f"{own}.shape[-2]"]
