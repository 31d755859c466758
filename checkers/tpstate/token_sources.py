"""Where it is known that a rank holds all tokens, or its own, before any sequence-region function was called."""

from __future__ import annotations

import ast
import re

from ..facts.nodes import as_code
from ..language import tr
from ..project.project import Project
from . import flags
from .interpreter import Interpreter
from .states import Tokens
from .token_events import TokensUnmarked
from .tokens import ALL, OWN, held_of, is_flag
from .values import NONE, PER_RANK, Const, Obj, Sym, Tensor, Value


def _has_sequence_parallelism(project: Project) -> bool:
    """Whether the tree moves between whole sequences and stretches of them, so that its flag means something."""
    return any(
        "sequence_parallel_region" in module.text
        for module in project.modules
        if not project.is_framework(module)
    )


def of_embedding(
    interp: Interpreter, obj: Obj, reduced: bool | None, name: str, node: ast.expr
) -> Tokens | None:
    """The output of a vocabulary-parallel embedding: all tokens, or one rank's where it reduce-scatters them."""
    if not interp.project.knowledge(_has_sequence_parallelism):
        return None
    if reduced is False:
        why = interp.step(node, tr("the embedding `%(name)s` returns all tokens on each rank", name=name))
        return Tokens(ALL, "", first=False, why=why)
    told = interp.settle(obj.args.get("reduce_scatter_embeddings", NONE))
    if not isinstance(told, Sym) or flags.bare(told.text)[1] or not is_flag(told.text) or " " in told.text:
        return None
    why = interp.step(node, tr("the embedding `%(name)s` reduce-scatters the tokens", name=name))
    return Tokens(OWN, told.text, first=True, why=why)


def of_positions(interp: Interpreter, left: Value, right: Value, node: ast.expr) -> Tokens | None:
    """`x + self.pos`: what a position parameter of the whole length is added to holds all tokens."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return None
    for table, other, written in ((left, right, node.left), (right, left, node.right)):
        if not isinstance(table, Tensor) or not isinstance(other, Tensor) or other.tokens is not None:
            continue
        dims = table.dims if table.role == "parameter" else None
        long = [size for size in dims[:-1] if size != Const(1)] if dims is not None and len(dims) == 3 else []
        if len(long) == 1 and "pos" in as_code(written) and not _is_share(long[0]):
            if interp.project.knowledge(_has_sequence_parallelism):
                text = tr(
                    "`%(table)s` has the length of the whole sequence: all tokens", table=as_code(written)
                )
                return Tokens(
                    ALL, "", first=dims is not None and dims[0] == long[0], why=interp.step(node, text)
                )
    return None


def _is_share(size: Value) -> bool:
    return isinstance(size, Sym) and PER_RANK in size.tags


_WEIGHTED = re.compile(r"torch\.nn\.(\w+\.)*(LayerNorm|RMSNorm|Linear)")


def note_unmarked(interp: Interpreter, module: Obj, args: tuple[Value, ...], node: ast.expr) -> None:
    """A module with parameters of its own gets one rank's own tokens: they need the mark `sequence_parallel`."""
    tokens = next(held_of(interp, args[0]), None) if args else None
    if tokens is None or tokens.held != OWN or not tokens.key or module.made_at is None:
        return
    is_torch = module.cls.facts is None and _WEIGHTED.fullmatch(module.cls.dotted) is not None
    if is_torch or module.args.get("sequence_parallel") == Const(False) or _is_unmarked(module):
        interp.emit(TokensUnmarked, node, tokens=tokens, module=module)


def _is_unmarked(module: Obj) -> bool:
    """Whether a module of the tree takes the mark `sequence_parallel`, and is not given it or makes nothing of it."""
    facts = module.cls.facts
    built = facts.methods.get("__init__") if facts is not None else None
    if built is None or facts is None:
        return False
    if "sequence_parallel" not in _parameters(built):
        return _holds_weight(module, built)
    used = facts.text.count("sequence_parallel") > 1
    if not used:
        return "Parameter(" in facts.text and len(facts.node.bases) == 1
    return "sequence_parallel" not in module.args and _default(built, "sequence_parallel") is False


def _holds_weight(module: Obj, built: ast.FunctionDef) -> bool:
    """Whether a module of the tree makes a whole parameter of its own, alone, and says nothing of the mark."""
    facts = module.cls.facts
    if (
        facts is None
        or len(facts.node.bases) != 1
        or _SPLITS.search(facts.text)
        or "sequence_p" in facts.text
    ):
        return False
    made = [
        node.value
        for node in ast.walk(built)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and as_code(node.targets[0])[:5] == "self."
    ]
    parameters = [call for call in made if as_code(call.func).endswith("Parameter")]
    return bool(parameters) and all(_WHOLE.search(as_code(call)) for call in parameters)


_SPLITS = re.compile(r"Parallel(Linear|Embedding)|_parallel_|mpu\.|tp_size|//")
_WHOLE = re.compile(r"torch\.(ones|zeros|empty)\((\w+\.)*\w+(, dtype=[\w.]+)?\)")


def _parameters(built: ast.FunctionDef) -> list[str]:
    return [arg.arg for arg in (*built.args.args, *built.args.kwonlyargs)]


def _default(built: ast.FunctionDef, name: str) -> object:
    """The default of a parameter that is a constant."""
    spec = built.args
    pairs = [*zip(reversed(spec.args), reversed(spec.defaults), strict=False)]
    pairs += [(arg, value) for arg, value in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if value]
    found = next((value for arg, value in pairs if arg.arg == name), None)
    return found.value if isinstance(found, ast.Constant) else None
