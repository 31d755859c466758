"""The stage classes: the constructor and forward of the model, each stage with its part of them."""

from __future__ import annotations

import ast
import textwrap

from ..facts.module import ClassFacts
from .convert import Converter
from .cutting import Cut
from .edits import TODO, load_names, store_names
from .naming import Names
from .parts import Parts

_MOST_TENSORS = 3

_HEAD = '''"""{title}"""

{imports}

{mark}class {cls}({base}):
    """{doc}"""

    def __init__(
        self,
{parameters}        config=None,
        **kwargs,
    ):
        if config is None:
            config = core_transformer_config_from_args(get_args())
        super().__init__(config)
        self.config = config
        self.pre_process = None
        self.share_embeddings_and_output_weights = None
        self.input_tensor = None
        self.recompute = config.recompute_granularity == "full"

{init}
    def set_input_tensor(self, input_tensor):
        """Take what the previous stage sent; the pipeline schedule calls it before ``forward``."""
        self.input_tensor = input_tensor

{methods}    def forward({signature}):
{forward}'''


class StageWriter:
    """Writes the stage files of one model."""

    def __init__(self, parts: Parts, model: ClassFacts, stems: dict[ClassFacts, str], names: Names) -> None:
        self.parts, self.model, self.names = parts, model, names
        self.converter = Converter(parts, model.module, stems)
        self.edits = self.converter.edits
        self.node = self.converter.node(model)
        methods = {n.name: n for n in self.node.body if isinstance(n, ast.FunctionDef)}
        self.init, self.forward = methods.pop("__init__"), methods.pop("forward")
        self.helpers = methods
        self.kinds = self.converter.convert(model)
        self.converter.rename_parts(self.node)
        self.runs: dict[str, str] = {}
        self._recompute()

    def _recompute(self) -> None:
        """A split part that is called with one tensor is computed again in backward, where the config says so."""
        split = set()
        for statement in ast.walk(self.init):
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
                part = self.parts.built(self.model.module, statement.value)
                target = statement.targets[0]
                if part is not None and self.parts.is_split(part) and isinstance(target, ast.Attribute):
                    split.add(target.attr)
        for node in ast.walk(self.forward):
            if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
                continue
            call = node.value
            attr = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            if attr in split and len(call.args) == 1 and not call.keywords and not self._is_input(call):
                self._recompute_call(call, attr, call.args[0])

    def _is_input(self, call: ast.Call) -> bool:
        """Whether a part is given the model's input as it came: ``checkpoint`` of it gives its weights no gradient."""
        names = {node.id for node in ast.walk(call.args[0]) if isinstance(node, ast.Name)}
        made = {name for node in self.forward.body if node.lineno < call.lineno for name in store_names(node)}
        return names <= {arg.arg for arg in self.forward.args.args} - made

    def _recompute_call(self, call: ast.Call, attr: str, given: ast.expr) -> None:
        text = self.edits.source(call)
        if isinstance(given, ast.Name):
            self.edits.replace(
                call, f"checkpoint(self.{attr}, False, {given.id}) if self.recompute else {text}"
            )
        elif isinstance(given, ast.Dict):  # Megatron's checkpoint takes tensors alone
            names = ", ".join(value.id for value in given.values if isinstance(value, ast.Name))
            self.runs[attr] = (
                f"    def run_{attr}(self, {names}):\n"
                f'        """The module for ``checkpoint``, which keeps tensors and no dict."""\n'
                f"        return {text}\n\n"
            )
            run = f"self.run_{attr}"
            self.edits.replace(
                call, f"checkpoint({run}, False, {names}) if self.recompute else {run}({names})"
            )

    def file(self, index: int, stage: Cut, last: int, mark: str) -> str:
        """The text of a stage's file; `mark` stands above its class."""
        helpers = [self.helpers[name] for name in self._helpers(stage)]
        needed = {n for part in (*stage.body, *stage.again, *helpers) for n in load_names(part)}
        methods = "".join(f"{self.edits.lines_of(helper)}\n" for helper in helpers)
        methods += "".join(text for attr, text in self.runs.items() if f"self.{attr}" in needed)
        text = _HEAD.format(
            title=f"Stage {index} of {self.model.name}.",
            imports="",
            mark=mark,
            cls=self.names.stage(index),
            base="PipelineStage",
            doc=self._doc(index, stage, last),
            parameters=self._parameters(),
            init=self._init(needed),
            methods=methods,
            signature=self._signature(index),
            forward=self._forward(index, stage, last),
        )
        imports = self._imports(text)
        return text.replace('"""\n\n\n', f'"""\n\n{imports}\n', 1)

    def _signature(self, index: int) -> str:
        if index == 0:
            return self.edits.rendered(*self._span_of_arguments())
        return "self, x=None"

    def _span_of_arguments(self) -> tuple[int, int]:
        spec = self.forward.args
        ends = [self.edits.span(arg)[1] for arg in (*spec.args, *spec.kwonlyargs)]
        ends += [
            self.edits.span(value)[1] for value in (*spec.defaults, *spec.kw_defaults) if value is not None
        ]
        return self.edits.span(spec.args[0])[0], max(ends)

    def _parameters(self) -> str:
        spec, lines = self.init.args, []
        defaults = [None] * (len(spec.args) - len(spec.defaults)) + list(spec.defaults)
        for arg, default in [
            *zip(spec.args, defaults, strict=True),
            *zip(spec.kwonlyargs, spec.kw_defaults, strict=True),
        ]:
            if arg.arg in ("self", "config"):
                continue
            text = self.edits.source(default) if default is not None else None
            lines.append(f"        {arg.arg}{'' if text is None else f'={text}'},\n")
        return "".join(lines)

    def _doc(self, index: int, stage: Cut, last: int) -> str:
        takes = "the model's input" if index == 0 else f"{', '.join(stage.takes)} through set_input_tensor"
        gives = "the model's output" if index == last else ", ".join(stage.gives)
        return f"Takes {takes}, gives {gives}. See {self.model.name}."

    def _init(self, needed: set[str]) -> str:
        """The statements of the constructor that a stage needs; what sets nothing is named in a mark."""
        parameters = {arg.arg for arg in (*self.init.args.args, *self.init.args.kwonlyargs)}
        kept: list[str] = []
        wanted = set(needed)
        for node in reversed(self.init.body):
            stores = store_names(node)
            if _is_super_or_text(node):
                continue
            if stores & wanted or (
                not stores and isinstance(node, ast.If) and load_names(node) <= parameters | wanted
            ):
                wanted |= load_names(node)
                kept.append(self.edits.lines_of(node))
            elif _speaks_of_all(node):
                first = self.edits.source(node).splitlines()[0]
                kept.append(f"        # {TODO}: the original also does this, for all of the model: {first}\n")
        return "".join(reversed(kept))

    def _helpers(self, stage: Cut) -> list[str]:
        found: list[str] = []
        waiting: list[ast.AST] = list(stage.body)
        while waiting:
            for name in sorted(load_names(waiting.pop())):
                helper = name.removeprefix("self.")
                if name.startswith("self.") and helper in self.helpers and helper not in found:
                    found.append(helper)
                    waiting.append(self.helpers[helper])
        return found

    def _forward(self, index: int, stage: Cut, last: int) -> str:
        lines = []
        if index:
            lines.append(
                f'assert self.input_tensor is not None, "no input: call set_input_tensor with what stage {index - 1} '
                f'returned"\n'
            )
            lines.append(f"{_listed(stage.takes)} = self.input_tensor\n")
        unknown = f".shape[0]  # {TODO}: an earlier stage read it from a tensor\n"
        lines += [f"{name} = {stage.takes[0]}{unknown}" for name in stage.lost]
        if not index and len(self.forward.args.args) > 2:
            lines.append(f"# {TODO}: the step gives one tensor: take it and part it into these\n")
        lines += [textwrap.dedent(self.edits.lines_of(node)) for node in (*stage.again, *stage.body)]
        if index == last:
            if isinstance(end := stage.body[-1], ast.Return) and isinstance(end.value, ast.Tuple):
                lines.insert(
                    -1,
                    f"# {TODO}: the step and the loss take one tensor: join these\n"
                    + _off("last-stage-packs-passthrough"),
                )
        else:
            if stage.raw:
                which = ", ".join(stage.raw)
                lines.append(f"# {TODO}: no gradient goes back to the input ({which}): use it up here\n")
            if len(stage.gives) > _MOST_TENSORS:
                lines.append(f"# {TODO}: {len(stage.gives)} tensors: join them, or cut elsewhere\n")
                lines.append(_off("stage-passes-too-many"))
            lines.append(f"return {_listed([f'{name}.contiguous()' for name in stage.gives])}\n")
        return textwrap.indent("".join(lines), " " * 8)

    def _imports(self, text: str) -> str:
        needed = load_names(ast.parse(text.replace('"""\n\n\n', '"""\n\n', 1)))
        lines = []
        for node in self.edits.tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                named = [a for a in node.names if (a.asname or a.name.split(".")[0]) in needed]
                if named:
                    lines.append(self._absolute(node, named))
        kinds = sorted(needed & {*self.kinds, "checkpoint"})
        if kinds:
            lines.append(f"from {self.names.megatron}.tensor_parallel import {', '.join(kinds)}\n")
        lines.append(f"from {self.names.training} import get_args\n")
        lines.append(f"from {self.names.training}.arguments import core_transformer_config_from_args\n")
        lines += self.converter.imports(self.node)
        own = sorted(needed & self._defined())
        if own:
            lines.append(f"from {self.model.module.name} import {', '.join(own)}\n")
        lines.append("\nfrom .pipeline_stage import PipelineStage\n")
        return "".join(lines)

    def _absolute(self, node: ast.Import | ast.ImportFrom, named: list[ast.alias]) -> str:
        texts = ", ".join(f"{a.name} as {a.asname}" if a.asname else a.name for a in named)
        if isinstance(node, ast.Import):
            return f"import {texts}\n"
        return f"from {self.model.module.absolute('.' * node.level + (node.module or ''))} import {texts}\n"

    def _defined(self) -> set[str]:
        found = set()
        for node in self.edits.tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name != self.model.name:
                found.add(node.name)
            elif isinstance(node, ast.Assign):
                found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        return found


def _speaks_of_all(node: ast.stmt) -> bool:
    """Whether a statement of a constructor does something to the model itself and sets no part of it."""
    own = {name for name in store_names(node) if name.startswith("self.")}
    is_value = isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.If)
    return not own and not is_value and "self." in ast.unparse(node)


def _off(symbol: str) -> str:
    return f"# pylint: disable-next={symbol}\n"


def _listed(names: list[str]) -> str:
    """Names in a row; one is a tuple too."""
    return f"({names[0]},)" if len(names) == 1 else ", ".join(names)


def _is_super_or_text(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Expr):
        return False
    return (
        isinstance(node.value, ast.Constant)
        or "super()" in ast.unparse(node)
        or "super(" in ast.unparse(node)
    )
