"""W7312"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import children, is_none
from ..finding import Finding
from ..project.distributed import is_named_distributed
from ..rule import Rule, Symptom
from ..tpstate.config_chain import gives, provider_of
from ..tpstate.events import Built
from ..tpstate.fixes import either, lines_before
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class ConfigNoneDereferenced(Rule):
    """A distributed module gives its config the default None and reads attributes of it unchecked."""

    code, symbol = "W7312", "config-none-dereferenced"
    message = (
        "`%(name)s` of `%(cls)s` may be left out and is None then, but `%(read)s` is read without a check"
    )
    advice = (
        "Refuse it early and clearly: `%(typed)s`, or fall back to Megatron's: "
        "`%(name)s = %(name)s or core_transformer_config_from_args(get_args())`."
    )
    why = (
        "A default says that the argument may be left out. Where it may not, the error should name the module and the "
        "argument, not an attribute of None."
    )
    symptom = Symptom.TRAP
    runtime = "AttributeError: 'NoneType' object has no attribute 'init_method'"
    limits = (
        "Silent where the constructor tests the config in any way, or gives it another value, and where the tree "
        "builds the class with a config everywhere."
    )
    guide = "2.3: the chain of config"
    fix_kind = "safe"
    fix_note = (
        "Only where the config is read on every path: then the constructor fails there today, and says so "
        "clearly with the edit. A read under a condition needs a reader."
    )

    bad = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class IceDistributedMlp(nn.Module):
        def __init__(self, dim, config=None):
            super().__init__()
            self.fc = ColumnParallelLinear(
                dim, dim, config=config, gather_output=True,
                init_method=config.init_method,  # [config-none-dereferenced]
            )
    """
    good = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class IceDistributedMlp(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.fc = ColumnParallelLinear(
                dim, dim, config=config, gather_output=True, init_method=config.init_method,
            )
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        holders = {
            id(e.owner) for e in analysis.log.events if type(e) is Built and provider_of(e) is not None
        }
        for cls in analysis.project.classes():
            method = cls.methods.get("__init__")
            if method is None or (id(cls) not in holders and not is_named_distributed(cls)):
                continue
            if analysis.project.is_framework(cls.module):
                continue
            for name in ("config", "megatron_config"):
                read = _first_read(method, name) if _defaults_to_none(method, name) else None
                if read is not None and not _is_always_given(analysis, cls, name):
                    yield self._finding(cls, name, read)

    def _finding(self, cls: ClassFacts, name: str, read: ast.Attribute) -> Finding:
        body = cls.methods["__init__"].body
        first = body[1] if ast.get_docstring(cls.methods["__init__"]) and len(body) > 1 else body[0]
        test, error = f"if {name} is None:", f'raise ValueError("{cls.name} needs `{name}`")'
        return self.finding(
            place_of(cls.module, read),
            object=cls.name,
            fix=either(_is_always_read(cls, read), lines_before(cls.module, first, test, f"    {error}")),
            cls=cls.name,
            name=name,
            read=ast.unparse(read),
            typed=f"{test} {error}".replace("`", ""),
        )


def _is_always_read(cls: ClassFacts, read: ast.Attribute) -> bool:
    """Whether no condition stands over a read: each constructor comes to it."""
    plain = [
        part
        for part in cls.methods["__init__"].body
        if isinstance(part, ast.Assign | ast.Expr | ast.AnnAssign)
    ]
    around = [node for part in plain for node in ast.walk(part) if read in list(ast.walk(node))]
    open_ends = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp)
    return bool(around) and not any(isinstance(node, open_ends) for node in around)


def _is_always_given(analysis: Analysis, cls: ClassFacts, name: str) -> bool:
    """Whether the tree builds the class, and each time with a config."""
    built = [e for e in analysis.log.events if type(e) is Built and e.stack and e.obj.cls.facts is cls]
    return bool(built) and all(gives(event, name) for event in built)


def _defaults_to_none(method: ast.FunctionDef, name: str) -> bool:
    spec = method.args
    positional = [*spec.posonlyargs, *spec.args]
    pairs = [
        *zip(reversed(positional), reversed(spec.defaults), strict=False),
        *zip(spec.kwonlyargs, spec.kw_defaults, strict=True),
    ]
    return any(
        arg.arg == name and isinstance(default, ast.Constant) and default.value is None
        for arg, default in pairs
    )


def _first_read(method: ast.FunctionDef, name: str) -> ast.Attribute | None:
    """The first `config.…` of a constructor that never asks whether there is a config; None where it does."""
    reads: list[ast.Attribute] = []
    pending: list[tuple[ast.AST, ast.AST]] = [(statement, method) for statement in method.body]
    while pending:
        node, parent = pending.pop()
        if isinstance(node, ast.Try | ast.Lambda | ast.FunctionDef):
            continue
        if isinstance(node, ast.Name) and node.id == name:
            if isinstance(parent, ast.Attribute):
                reads.append(parent)
            elif (
                not isinstance(parent, ast.Call | ast.keyword | ast.Assign)
                or isinstance(node.ctx, ast.Store)
                or (
                    isinstance(parent, ast.Call)
                    and isinstance(parent.func, ast.Name)
                    and parent.func.id in _TESTS
                )
            ):
                return None
        pending += [(child, node) for child in children(node) if not _is_other_way(method, node, child)]
    return min(reads, key=lambda read: (read.lineno, read.col_offset)) if reads else None


def _is_other_way(method: ast.FunctionDef, node: ast.AST, child: ast.AST) -> bool:
    """Whether a statement runs only where another argument is left out: the config is given in its place."""
    test = node.test if isinstance(node, ast.If) else None
    return (
        isinstance(node, ast.If)
        and isinstance(test, ast.Compare)
        and isinstance(test.left, ast.Name)
        and isinstance(test.ops[0], ast.Is)
        and is_none(test.comparators[0])
        and _defaults_to_none(method, test.left.id)
        and child in node.body
    )


_TESTS = ("getattr", "hasattr", "isinstance", "bool", "callable")
