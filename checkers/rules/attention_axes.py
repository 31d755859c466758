"""E7622"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..facts.module import ModuleFacts
from ..facts.nodes import as_code, walk
from ..finding import Finding
from ..language import tr
from ..project.attention_scores import over_queries
from ..project.axes import Axes
from ..project.axis_sizes import Axis, is_heads
from ..project.axis_values import Attended
from ..project.project import Project, dotted_name
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class AttentionAxes(Rule):
    """Queries and keys meet over the wrong axes, or are scaled by the width of all heads."""

    code, symbol = "E7622", "attention-axes"
    message = "%(problem)s"
    advice = "%(typed)s"
    why = (
        "Attention weighs the tokens of one head against each other: queries, keys and values are (batch, heads, "
        "tokens, channels of a head), and the scale is the root of the last."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "mostly nothing fails: heads attend to heads, or all weights are nearly equal; some sizes crash"
    limits = (
        "Inside one function, by the names of sizes and by `b, n, s, d = q.shape`; silent where they say nothing. The "
        "order of queries, keys and values by their names, where nothing takes them apart so."
    )
    guide = "beyond the guide"
    bad = """
    # one rank of tensor_parallel layers
    from torch.nn import functional as F


    def attend(q, k, v, num_heads):
        b, n, c = q.shape
        q, k, v = (x.view(b, n, num_heads, -1) for x in (q, k, v))
        out = F.scaled_dot_product_attention(q, k, v)  # [attention-axes]
        return out.reshape(b, n, c)
    """
    good = """
    # one rank of tensor_parallel layers
    from torch.nn import functional as F


    def attend(q, k, v, num_heads):
        b, n, c = q.shape
        q, k, v = (x.view(b, n, num_heads, -1).transpose(1, 2) for x in (q, k, v))
        out = F.scaled_dot_product_attention(q, k, v)
        return out.transpose(1, 2).reshape(b, n, c)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for module, read in analysis.project.knowledge(Axes).readings:
            for attended in read.attended:
                for problem, typed in _problems(attended):
                    yield self.finding(
                        place_of(module, attended.node),
                        object=read.function.name,
                        advice="%(typed)s",
                        problem=problem,
                        typed=typed,
                    )
        for module in analysis.project.modules:
            for call, dim in over_queries(module) if module.says(_SOFTMAX) else ():
                yield self.finding(
                    place_of(module, call),
                    advice="%(typed)s",
                    problem=tr("sums over the queries: `dim=%(dim)s` is theirs", dim=dim),
                    typed=tr("Take the softmax over the keys: `dim=-1`."),
                )
            for call in _in_other_order(module, analysis.project) if module.says(_JOINS) else ():
                name = (dotted_name(call.func) or "").rsplit(".", 1)[-1]
                typed = tr("Write them in the order queries, keys, values.")
                if name in _KERNELS:
                    problem = tr("is given queries, keys and values in another order")
                else:
                    problem = tr(
                        "joins queries, keys and values in another order than the tree takes them apart"
                    )
                yield self.finding(place_of(module, call), advice="%(typed)s", problem=problem, typed=typed)


_SOFTMAX = re.compile(r"softmax\(.*-2")
_LETTERS = {
    "q": "q", "query": "q", "queries": "q", "k": "k", "key": "k", "keys": "k", "v": "v", "value": "v", "values": "v",
}  # fmt: skip
_JOINERS = frozenset({"cat", "concat", "concatenate", "stack"})
_KERNELS = frozenset({"scaled_dot_product_attention"})
_JOINS = re.compile(r"\b(cat|concat|concatenate|stack|scaled_dot_product_attention)\(")


def _in_other_order(module: ModuleFacts, project: Project) -> Iterator[ast.Call]:
    """Calls that take `q, v, k`, where nothing of the tree takes a tensor apart so."""
    for node in walk(module.tree):
        if type(node) is not ast.Call or not node.args:
            continue
        name = (dotted_name(node.func) or "").rsplit(".", 1)[-1]
        first = node.args[0]
        if name in _KERNELS:
            parts = node.args[:3]
        elif name in _JOINERS and isinstance(first, ast.List | ast.Tuple):
            parts = first.elts
        else:
            continue
        order = _order(parts)
        if order and order != "qkv" and (name in _KERNELS or not project.knowledge(_Apart).takes(order)):
            yield node


def _order(parts: Sequence[ast.expr]) -> str:
    """`qvk`: the letters of three names, an empty text where they are not those of queries, keys and values."""
    names = [(dotted_name(part) or "").rsplit(".", 1)[-1].split("_")[0] for part in parts]
    letters = "".join(_LETTERS.get(name, "") for name in names)
    return letters if len(parts) == 3 and sorted(letters) == ["k", "q", "v"] else ""


class _Apart:
    """In which orders the tree takes queries, keys and values apart, and functions take them."""

    def __init__(self, project: Project) -> None:
        self._found: set[str] = set()
        for module in project.modules:
            if module.says(_JOINS):
                self._found |= set(self._of(module))

    @staticmethod
    def _of(module: ModuleFacts) -> Iterator[str]:
        for node in walk(module.tree):
            if isinstance(node, ast.Tuple | ast.List) and isinstance(node.ctx, ast.Store):
                yield _order(node.elts)

    def takes(self, order: str) -> bool:
        """Whether something takes them apart in this order."""
        return order in self._found


def _problems(attended: Attended) -> Iterator[tuple[str, str]]:
    query, key = attended.query.axes, attended.key.axes
    if query is None or len(query) < 4:
        return
    if is_heads(query[-2]) and not is_heads(query[-3]) and (key is None or _keys_are_heads(attended, key)):
        yield (
            tr(
                "attends over `%(heads)s`: heads are weighed against each other, not tokens",
                heads=_name(query[-2]),
            ),
            tr(
                "Bring the heads before the tokens: `x.transpose(1, 2)` behind each view, and back behind the product."
            ),
        )
    if attended.all_channels is not None and query[-1].parts != (as_code(attended.all_channels),):
        yield (
            tr("scales by `%(size)s`, the width of all heads together", size=as_code(attended.all_channels)),
            tr("Scale by the channels of one head, the last size of the query: `q.shape[-1] ** -0.5`."),
        )
    if not attended.is_kernel and key is not None and len(key) == len(query):
        for axis, other in (*zip(query[:-2], key[:-2], strict=True), (query[-1], key[-2])):
            if axis != other and axis in key and other in query and axis.parts and other.parts:
                yield (
                    tr("meets axis `%(axis)s` with `%(other)s`", axis=_name(axis), other=_name(other)),
                    tr("Permute both alike: (batch, heads, tokens, channels), the key transposed last."),
                )
                return


def _keys_are_heads(attended: Attended, key: tuple[Axis, ...]) -> bool:
    return is_heads(key[-2] if attended.is_kernel else key[-1])


def _name(axis: Axis) -> str:
    return re.sub(r"@\d+", "", "*".join(axis.parts))
