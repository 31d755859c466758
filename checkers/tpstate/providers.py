"""Who makes parallel layers, and what each returns: a data table, resolved by import origin, never by bare name.

Read from the sources of 38 public trees. A class of the tree that no row names and that splits its weight itself
is read: what its own `forward` returns and the defaults of its own `__init__` make its row.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import replace

from ..facts.module import ClassFacts, ImportEdge, ModuleFacts
from ..project.pins import pins_old_core
from ..project.project import External, Project
from .provider_table import (
    BEFORE_CONFIG,
    COLUMN,
    INFERENCE,
    MEGATRON,
    PAIR,
    PLATFORM_OPS,
    ROW,
    TENSOR,
    UNDECIDED,
    Provider,
    compiled,
)

_NAMES = re.compile(
    r"(Column|Row)Parallel(Linear|GELU)?|ParallelEmbedding|ReplicatedLinear|LinearNoTP|QKVParallel|Column|Row|Linear1D_Col|^Linear$"
)

_NEWER_PARTS = frozenset(
    {"core", "training", "legacy", "inference", "energon", "bridge", "post_training", "rl"}
)
"""Parts of `megatron` that came with or after Megatron-Core 0.3."""

_OWN_NAME = re.compile(r"^\w*?(Column|Row)Parallel(Linear)?(Torch)?$")

_CUTS = re.compile(r"(divide\(|//)[^\n]*(tp|parallel|world)_?\w*size")
"""A size divided by that of the group: a column-parallel layer needs no collective."""

_COLLECTIVE = re.compile(
    r"all_reduce|all_gather|reduce_scatter|_tensor_model_parallel_region|reduce_from|gather_from|_region\("
)


def provider_for(project: Project, cls: ClassFacts | External) -> Provider | None:
    """The contract of a class by its definition's dotted path; None when it makes no parallel layer."""
    cache_key = ("provider", cls if isinstance(cls, External) else id(cls))
    memo: dict[object, Provider | None] = project.__dict__.setdefault("_providers", {})
    if cache_key not in memo:
        memo[cache_key] = _find(project, cls)
    return memo[cache_key]


def as_called(project: Project, row: Provider, module: ModuleFacts, arguments: Iterable[str]) -> Provider:
    """The row that a call means where the source of the layer, and so its version, is not in the tree.

    A project that pins a Megatron-Core before 0.3, or a file that imports from Megatron-LM as it was laid out until
    2023 (`megatron.model`, `from megatron import get_args`), and gives a layer no config may well be written for the
    Megatron-Core of that time, which took none.
    """
    if row.name != "Megatron-Core" or row.kind not in BEFORE_CONFIG or "config" in arguments or row.source:
        return row
    old = any(_is_old_layout(edge) for edge in module.edges) or pins_old_core(project, module.path)
    old = old or not _ONLY_OLD.isdisjoint(arguments) or project.knowledge(_never_gives_config)
    return BEFORE_CONFIG[row.kind] if old else row


_ONLY_OLD = frozenset(
    "sequence_parallel_enabled async_tensor_model_parallel_allreduce gradient_accumulation_fusion "
    "use_cpu_initialization params_dtype".split()
)
"""What the layers took before 0.3, and find in their config since."""

_OF_NEW = re.compile(r"TransformerConfig|ModelParallelConfig|transformer_config|config=|config\.init_method")
_BUILT = re.compile(r"\b(Column|Row)ParallelLinear\(")
_SEVERAL = 3


def _never_gives_config(project: Project) -> bool:
    """Whether the tree builds several layers and knows of no config for any, as code before 0.3."""
    texts = [module.text for module in project.modules if not project.is_copied_framework(module)]
    built = sum(len(_BUILT.findall(text)) for text in texts)
    return built >= _SEVERAL and not any(_OF_NEW.search(text) for text in texts)


def _is_old_layout(edge: ImportEdge) -> bool:
    top, _, rest = edge.module.partition(".")
    inside = (rest.split(".")[0],) if rest else edge.names
    return top == "megatron" and any(name not in _NEWER_PARTS for name in inside)


def _find(project: Project, cls: ClassFacts | External) -> Provider | None:
    dotted = cls.dotted
    for given in project.settings.providers:
        if dotted == given["name"] or dotted.endswith(f".{given['name']}"):
            return _configured(given, cls)
    if not _NAMES.search(dotted.rsplit(".", 1)[-1]):
        return None
    for pattern, row in compiled():
        if pattern.search(dotted):
            if isinstance(cls, ClassFacts):
                return _checked(project, cls, row)
            return replace(row, returns=UNDECIDED) if _is_copy(project, dotted) else row
    if isinstance(cls, ClassFacts) and _OWN_NAME.match(cls.name):
        return _read_own(project, cls)
    return None


def _is_copy(project: Project, dotted: str) -> bool:
    """Whether a name leads to a copy of Megatron in another package that is not in the tree, a submodule of git mostly.

    Which release it is is not known: the layers of the first ones returned a tensor.
    """
    known = [prefix for prefix in project.settings.framework if f"{dotted}.".startswith(f"{prefix}.")]
    return ".megatron." in dotted and not known


def _configured(given: dict[str, str], cls: ClassFacts | External) -> Provider:
    """A row of the user's settings."""
    flags = {"true": True, "false": False}
    return Provider(
        given["name"],
        given.get("kind", COLUMN),
        given.get("returns", PAIR),
        flags.get(given.get("gather_output", "")),
        flags.get(given.get("input_is_parallel", "")),
        source=cls if isinstance(cls, ClassFacts) else None,
    )


def _checked(project: Project, cls: ClassFacts, row: Provider) -> Provider | None:
    """A row for a class whose source is in the tree: its own signature and returns stand over the table."""
    own = _signature(cls, row)
    returned = _returns(cls)
    if returned is None:
        inherits = any(provider_for(project, entry) is not None for entry in project.mro(cls)[1:])
        return None if inherits and "__init__" not in cls.methods else replace(own, source=cls)
    keeps_row = bool(row.tensor_flag) or returned == UNDECIDED
    return replace(own, returns=row.returns if keeps_row else returned, source=cls)


def _read_own(project: Project, cls: ClassFacts) -> Provider | None:
    """A class named like a parallel layer that no row knows: read from its own source, or that of the base which
    holds the forward."""
    order = project.mro(cls)
    if any(provider_for(project, entry) is not None for entry in order[1:]):
        return None
    own = [entry for entry in order if isinstance(entry, ClassFacts)]
    holder = next((entry for entry in own if "forward" in entry.methods), cls)
    text = cls.text if holder is cls else f"{cls.text}\n{holder.text}"
    returned = _returns(holder)
    match = _OWN_NAME.match(cls.name)
    assert match is not None
    kind = COLUMN if match.group(1) == "Column" else ROW
    cuts = kind == COLUMN and _CUTS.search(text) is not None
    if returned is None or not (cuts or _COLLECTIVE.search(text)):
        return None
    family = INFERENCE if "weight_loader" in cls.methods else MEGATRON
    flag = _tensor_flag(holder.methods["forward"])
    row = Provider(cls.dotted, kind, PAIR if flag else returned, family=family, tensor_flag=flag, source=cls)
    return _signature(cls, row)


def _tensor_flag(forward: ast.FunctionDef) -> str:
    """The option without which a layer returns its output alone: `if not self.return_bias: return output`."""
    last = forward.body[-1]
    pairs = isinstance(last, ast.Return) and isinstance(last.value, ast.Tuple) and len(last.value.elts) == 2
    for node in forward.body:
        if (
            isinstance(node, ast.If)
            and isinstance(node.test, ast.UnaryOp)
            and isinstance(node.test.op, ast.Not)
        ):
            asked, inside = node.test.operand, node.body[0]
            if pairs and isinstance(asked, ast.Attribute) and isinstance(inside, ast.Return):
                return asked.attr
    return ""


def _signature(cls: ClassFacts, row: Provider) -> Provider:
    """Parameter names and defaults from the class's own constructor."""
    method = cls.methods.get("__init__")
    if method is None:
        return row
    spec = method.args
    positional = [arg.arg for arg in (*spec.posonlyargs, *spec.args)][1:]
    defaults: dict[str, ast.expr | None] = dict(
        zip([arg.arg for arg in spec.kwonlyargs], spec.kw_defaults, strict=True)
    )
    defaults.update(zip(reversed(positional), reversed(spec.defaults), strict=False))
    required = tuple(name for name in positional if name not in defaults)
    required += tuple(
        arg.arg for arg, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default is None
    )
    names = {*positional, *defaults}
    gather = _flag(defaults.get("gather_output"), row.gather) if "gather_output" in names else None
    parallel = _flag(defaults.get("input_is_parallel"), None) if "input_is_parallel" in names else None
    return replace(
        row,
        positional=tuple(positional),
        required=tuple(name for name in required if name not in positional[:2]),
        keyword_only=bool(spec.kwonlyargs),
        gather=gather if row.kind == COLUMN else None,
        parallel=parallel if row.kind == ROW else None,
    )


def _flag(default: ast.expr | None, otherwise: bool | None) -> bool | None:
    return (
        default.value if isinstance(default, ast.Constant) and isinstance(default.value, bool) else otherwise
    )


def dispatches(cls: ClassFacts) -> bool:
    """Whether a class picks a kernel when the job runs (`CustomOp` of vLLM, `BaseFusedOp` of SGLang).

    Its `forward` hands on whatever it is given, and what it computes is `forward_native`.
    """
    if cls.name in PLATFORM_OPS:
        return True
    forward = cls.methods.get("forward", cls.methods.get("__call__"))
    return "forward_native" in cls.methods and forward is not None and forward.args.vararg is not None


def accepts(row: Provider) -> set[str] | None:
    """Every parameter the layer's own constructor takes, None when its source is not in the tree or it is open."""
    method = row.source.methods.get("__init__") if row.source is not None else None
    if method is None or method.args.kwarg is not None:
        return None
    spec = method.args
    return {arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)} - {"self"}


def _returns(cls: ClassFacts) -> str | None:
    """What the class's own forward returns; None when it has none."""
    method = cls.methods.get("forward")
    if method is None:
        return None
    kinds = set()
    pending: list[ast.AST] = list(method.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(node, ast.Return) and node.value is not None:
            kinds.add(_kind_of(node.value, method))
        pending += list(ast.iter_child_nodes(node))
    return kinds.pop() if len(kinds) == 1 else UNDECIDED


def may_return(row: Provider | None, count: int) -> bool:
    """Whether the class, where its source is seen, has a return of so many values."""
    forward = row.source.methods.get("forward") if row is not None and row.source is not None else None
    return forward is not None and any(
        isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple) and len(node.value.elts) == count
        for node in ast.walk(forward)
    )


def _kind_of(value: ast.expr, method: ast.FunctionDef) -> str:
    if isinstance(value, ast.Tuple):
        return PAIR if len(value.elts) == 2 else UNDECIDED
    if isinstance(value, ast.Name):
        return UNDECIDED if _comes_from_forward(value.id, method) else TENSOR
    if isinstance(value, ast.BinOp | ast.Attribute):
        return TENSOR
    if isinstance(value, ast.Call):
        name = ast.unparse(value.func)
        return UNDECIDED if "forward" in name or "super()" in name else TENSOR
    return UNDECIDED


def _comes_from_forward(name: str, method: ast.FunctionDef) -> bool:
    """Whether a variable holds what another forward returned, which may be a pair."""
    for node in ast.walk(method):
        if isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == name for t in node.targets
        ):
            source = ast.unparse(node.value)
            if isinstance(node.value, ast.Tuple) or "forward(" in source or "super()" in source:
                return True
    return False
