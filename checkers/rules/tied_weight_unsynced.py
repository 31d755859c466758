"""E7733"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..finding import Evidence, Finding
from ..language import tr
from ..project.project import Project
from ..rule import Rule, Symptom
from ..spmd.axes import last_name
from ..spmd.both_ends import built_at_both_ends
from ..spmd.collectives import Entered
from ..spmd.conditions import Atom, condition
from ..spmd.frames import Frame, Scopes, functions, module_functions
from ..spmd.names import EMBEDDING
from ..spmd.tied_marks import built_on_ends, built_twice, mark_faults
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_STAGED = re.compile(r"post_process|is_pipeline_last_stage")
_ZEROED = re.compile(r"zero_\(|zeros_\(|fill_\(0|zeros\(|broadcast\(|copy_\(")
_FRAMEWORK = re.compile(
    r"finalize_model_grads|allreduce_(word_)?embedding_grads|setup_embeddings_and_output_layer|initialize_word_embeddings"
)
_GROUP = re.compile(r"embedding_group")


class TiedWeightUnsynced(Rule):
    """A weight that the first and the last stage share starts unequal, or its gradients are not added up."""

    code, symbol = "E7733", "tied-weight-unsynced"
    message = "`%(cls)s` builds `%(attr)s` on the first and on the last stage, but %(what)s"
    advice = "%(advice)s"
    why = (
        "With pipeline parallelism a tied embedding exists twice. The copies stay one weight only if they start equal "
        "and each step adds up the gradients of both over the embedding group."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "Nothing fails; the embedding starts twice as large, or the copies drift apart from the first step on."
    limits = (
        "Only for classes that build the same attribute under `pre_process` and again for the last stage, and sum it "
        "over the embedding group themselves; silent where Megatron's own functions do it."
    )
    guide = "beyond the guide"

    bad = """
    import torch.distributed as dist
    from megatron.core import parallel_state
    from torch import nn


    class Model(nn.Module):
        def __init__(self, dim, pre_process=True, post_process=True):
            super().__init__()
            self.input_tensor = None
            if pre_process:
                self.embed = nn.Embedding(64, dim)
            if post_process and not pre_process:
                self.embed = nn.Embedding(64, dim)
            if pre_process or post_process:
                sync(self.embed.weight)  # [tied-weight-unsynced]


    def sync(weight):
        dist.all_reduce(weight.data, group=parallel_state.get_embedding_group())


    def reduce_tied(model):
        if parallel_state.is_rank_in_embedding_group():
            dist.all_reduce(model.embed.weight.grad, group=parallel_state.get_embedding_group())


    def finish(model):
        reduce_tied(model)
    """
    good = """
    import torch.distributed as dist
    from megatron.core import parallel_state
    from torch import nn


    class Model(nn.Module):
        def __init__(self, dim, pre_process=True, post_process=True):
            super().__init__()
            self.input_tensor = None
            if pre_process:
                self.embed = nn.Embedding(64, dim)
            if post_process and not pre_process:
                self.embed = nn.Embedding(64, dim)
                self.embed.weight.data.zero_()
            if pre_process or post_process:
                sync(self.embed.weight)


    def sync(weight):
        dist.all_reduce(weight.data, group=parallel_state.get_embedding_group())


    def reduce_tied(model):
        if parallel_state.is_rank_in_embedding_group():
            dist.all_reduce(model.embed.weight.grad, group=parallel_state.get_embedding_group())


    def finish(model):
        reduce_tied(model)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        yield from self._entered_by_one(project)
        yield from self._named_apart(project)
        for frame, node, what, advice in mark_faults(project):
            yield self.finding(
                place_of(frame.module, node),
                object=frame.function_name,
                message="%(what)s",
                what=what,
                advice=advice,
            )
        for module in project.modules:
            if project.is_copied_framework(module) or not module.says(_STAGED):
                continue
            for cls in module.classes.values():
                if "__init__" in cls.methods and _STAGED.search(cls.text) and not _FRAMEWORK.search(cls.text):
                    yield from self._check(project, cls)

    def _named_apart(self, project: Project) -> Iterator[Finding]:
        """Two `TiedLayerSpec` of one class under two keys: each is tied to itself alone."""
        for module in project.modules:
            if "TiedLayerSpec" not in module.words or project.is_copied_framework(module):
                continue
            specs = [
                (frame, call)
                for frame in module_functions(project, module)
                for call in frame.scope.calls
                if frame.external(call.func).startswith("deepspeed")
                and call.args
                and last_name(call.func) == "TiedLayerSpec"
            ]
            keys = [call.args[0].value for _, call in specs if isinstance(call.args[0], ast.Constant)]
            if len(specs) == len(keys) == len(set(keys)) == 2 and len(specs[0][1].args) > 1:
                frame, call = specs[1]
                if len(call.args) > 1 and ast.unparse(call.args[1]) == ast.unparse(specs[0][1].args[1]):
                    yield self.finding(
                        place_of(module, call),
                        object=frame.cls.name if frame.cls is not None else "",
                        message="the tied layers `%(one)s` and `%(two)s` have two keys: neither is tied to the other",
                        one=str(keys[0]),
                        two=str(keys[1]),
                        advice=tr("Give both one key."),
                    )

    def _entered_by_one(self, project: Project) -> Iterator[Finding]:
        """A sum over the embedding group under a test that one of its two stages alone passes."""
        entered = project.knowledge(Entered)
        ends: dict[str, list[tuple[Frame, ast.Call]]] = {"0": [], "last": [], "": []}
        for frame in functions(project, _GROUP):
            for entry in entered.of(frame):
                if entry.axes == EMBEDDING and entry.is_torch:
                    ends[_end_of(entry.node, frame)].append((frame, entry.node))
        for end, other in (("0", "last"), ("last", "0")):
            for frame, node in ends[end][:1]:
                of_gradient = ".grad" in ast.unparse(node)
                partners = [call for _, call in (*ends[other], *ends[""])]
                if any((".grad" in ast.unparse(call)) == of_gradient for call in partners):
                    continue
                yield self.finding(
                    place_of(frame.module, node),
                    object=frame.function_name,
                    message="`%(call)s` sums over the first and the last stage, and %(what)s",
                    call=ast.unparse(node),
                    what=tr("only one of the two enters it"),
                    advice=tr("Ask `parallel_state.is_rank_in_embedding_group()`."),
                )

    def _check(self, project: Project, cls: ClassFacts) -> Iterator[Finding]:
        init = Frame(project, project.knowledge(Scopes).of(cls.module, cls.methods["__init__"]), cls)
        twice = built_twice(init)
        if twice is None:
            both = built_at_both_ends(init) if not project.knowledge(_knows_group) else None
            if both is not None and re.search(rf"self\.{both[0]}\.weight", cls.text):
                what = tr("both start from a draw of their own, and nothing adds up their gradients")
                advice = tr(
                    "All-reduce the weight once it is built, and its `.grad` after each backward pass, over "
                    "`parallel_state.get_embedding_group()`."
                )
                yield self._found(init, both[1], cls, both[0], what, advice)
            twice = built_on_ends(init) if both is None else None
        if twice is None:
            return
        attr, node = twice
        sync = next(_synced(init), None)
        if sync is None:
            if project.knowledge(_only_gradients) and _ZEROED.search(cls.text):
                what = tr("the second copy is set to zero and never gets the value of the first")
                advice = tr(
                    "All-reduce the weight over `parallel_state.get_embedding_group()` once it is built."
                )
                yield self._found(init, node, cls, attr, what, advice)
            return
        if not _ZEROED.search(cls.text):
            what = tr("both start from a draw of their own, and the sum over the embedding group adds them")
            advice = tr("Set the copy of the last stage to zero before the sum: `weight.data.zero_()`.")
            yield self._found(init, sync, cls, attr, what, advice)
        elif not project.knowledge(_sums_gradients):
            what = tr("nothing that is called adds up their gradients over the embedding group")
            advice = tr(
                "All-reduce its `.grad` over `parallel_state.get_embedding_group()` after the backward pass."
            )
            yield self._found(init, sync, cls, attr, what, advice)

    def _found(
        self, init: Frame, node: ast.AST, cls: ClassFacts, attr: str, what: str, advice: str
    ) -> Finding:
        line: int = getattr(node, "lineno", 1)
        return self.finding(
            place_of(init.module, node),
            object=cls.name,
            evidence=(Evidence(init.module.display, line, what),),
            cls=cls.name,
            attr=f"self.{attr}",
            what=what,
            advice=advice,
        )


def _end_of(call: ast.Call, frame: Frame) -> str:
    """The one stage that a test lets through to a call: "0", "last", or neither."""
    for node in frame.scope.of(ast.If):
        if not node.orelse:
            asked = condition(node.test, frame)
            inside = any(part is call for statement in node.body for part in ast.walk(statement))
            if inside and isinstance(asked, Atom) and asked.subject == "pp" and asked.value in ("0", "last"):
                return asked.value
    return ""


def _knows_group(project: Project) -> bool:
    """Whether anything in the tree speaks of the group of the two ends, or leaves the sum to a framework."""
    return any(m.says(_GROUP) or m.says(_FRAMEWORK) or m.says(_DRIVEN) for m in project.modules)


_DRIVEN = re.compile(r"\bpretrain\(|MegatronModule|LanguageModule|finalize_model_grads")


def _synced(init: Frame) -> Iterator[ast.Call]:
    """Calls of the constructor that sum over the embedding group."""
    entered = init.project.knowledge(Entered)
    for node in init.scope.calls:
        inner = init.callee(node)
        own = [entry for entry in entered.of(init) if entry.node is node]
        if any(
            entry.axes == EMBEDDING for entry in (*own, *(entered.of(inner) if inner is not None else ()))
        ):
            yield node


def _gradient_sums(project: Project) -> Iterator[str]:
    """Functions that reduce gradients over the embedding group."""
    for frame in functions(project, _GROUP):
        function = frame.scope.function
        if function is not None and ".grad" in frame.module.text_of(function):
            if any(entry.axes == EMBEDDING for entry in project.knowledge(Entered).of(frame)):
                yield function.name


def _sums_gradients(project: Project) -> bool:
    """Whether a function that sums the gradients is called, or Megatron's own is."""
    texts = [module.text for module in project.modules]
    if any(_FRAMEWORK.search(text) or "pretrain(" in text for text in texts):
        return True
    return any(
        sum(len(re.findall(rf"\b{name}\(", text)) for text in texts) > 1 for name in _gradient_sums(project)
    )


def _only_gradients(project: Project) -> bool:
    """Whether every sum over the embedding group in the tree is one of gradients, and there is one."""
    entered = project.knowledge(Entered)
    found = [
        ".grad" in ast.unparse(entry.node)
        for frame in functions(project, _GROUP)
        for entry in entered.of(frame)
        if entry.axes == EMBEDDING
    ]
    return bool(found) and all(found)
