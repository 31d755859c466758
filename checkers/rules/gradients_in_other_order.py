"""E7770"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ModuleFacts
from ..facts.nodes import as_code, walk
from ..finding import Finding
from ..rule import Rule, Symptom
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_GRADIENT = re.compile(r"(?:grad|d)_(?:of_)?(\w+)|(\w+)_grad")


class GradientsInOtherOrder(Rule):
    """A backward returns its gradients in another order than the forward takes its arguments."""

    code, symbol = "E7770", "gradients-in-other-order"
    message = "`%(returned)s` is returned for the arguments (%(arguments)s)"
    advice = "Return `%(typed)s`."
    why = "Autograd hands the first result to the first argument of the forward, and so on, whatever their names say."
    symptom = Symptom.CRASH
    runtime = "RuntimeError: returned an invalid gradient at index 1, or wrong gradients where the shapes are the same"
    limits = (
        "`torch.autograd.Function`, and `register_autograd` of an operator of the file, where results are named for "
        "the arguments: `grad_weight` for `weight`."
    )
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "A name may be the wrong one."

    bad = """
    # one rank of tensor_parallel layers
    import torch


    class Column(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight, bias):
            ctx.save_for_backward(x, weight)
            return x @ weight.T + bias

        @staticmethod
        def backward(ctx, upstream):
            x, weight = ctx.saved_tensors
            grad_x, grad_weight, grad_bias = upstream @ weight, upstream.T @ x, upstream.sum(0)
            return grad_x, grad_bias, grad_weight  # [gradients-in-other-order]
    """
    good = bad.replace(
        "grad_x, grad_bias, grad_weight  # [gradients-in-other-order]", "grad_x, grad_weight, grad_bias"
    )

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for module in analysis.project.modules:
            for cls in module.classes.values():
                forward, backward = cls.methods.get("forward"), cls.methods.get("backward")
                is_function = any(as_code(base).endswith("Function") for base in cls.node.bases)
                if is_function and forward is not None and backward is not None:
                    names = [arg.arg for arg in forward.args.args]
                    yield from self._of(module, backward, names[1:])
            if "register_autograd(" in module.text:
                yield from self._registered(module)

    def _registered(self, module: ModuleFacts) -> Iterator[Finding]:
        """`operator.register_autograd(backward)`."""
        defined = {node.name: node for node in module.tree.body if isinstance(node, ast.FunctionDef)}
        for statement in module.tree.body:
            call = statement.value if isinstance(statement, ast.Expr) else None
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or not call.args:
                continue
            forward, backward = (defined.get(as_code(node)) for node in (call.func.value, call.args[0]))
            if call.func.attr == "register_autograd" and forward is not None and backward is not None:
                yield from self._of(module, backward, [arg.arg for arg in forward.args.args])

    def _of(self, module: ModuleFacts, backward: ast.FunctionDef, names: list[str]) -> Iterator[Finding]:
        for node in walk(backward):
            if not isinstance(node, ast.Return) or not isinstance(node.value, ast.Tuple):
                continue
            parts = node.value.elts
            if len(parts) != len(names):
                continue
            meant = [_argument(part, names) for part in parts]
            given = [(at, name) for at, name in enumerate(meant) if name]
            wrong = [at for at, name in given if names[at] != name]
            if (
                wrong
                and len({name for _, name in given}) == len(given)
                and {names[at] for at in wrong} == {meant[at] for at in wrong}
            ):
                texts = [as_code(part) for part in parts]
                by_name = {name: texts[at] for at, name in given}
                typed = ", ".join(
                    by_name[names[at]] if at in wrong else texts[at] for at in range(len(parts))
                )
                yield self.finding(
                    place_of(module, node.value),
                    object=backward.name,
                    fix=unsafe(replace(module, node.value, typed)),
                    returned=", ".join(texts),
                    arguments=", ".join(names),
                    typed=typed,
                )


def _argument(node: ast.expr, names: list[str]) -> str:
    """The argument that a result is named for."""
    match = _GRADIENT.fullmatch(node.id) if isinstance(node, ast.Name) else None
    name = (match[1] or match[2]) if match is not None else ""
    return name if name in names else ""
