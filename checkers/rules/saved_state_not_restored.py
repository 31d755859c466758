"""W7610"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..facts.module import ModuleFacts
from ..finding import Finding
from ..project.project import Project
from ..rule import Rule, Symptom
from ..spmd.frames import Frame, functions
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_SAVES, _LOADS = re.compile(r"torch\.save\("), re.compile(r"torch\.load\(")
_PROGRESS = frozenset("step epoch iteration global_step iter start_epoch last_epoch num_updates".split())
_TRAINS = re.compile(r"optim|\.backward\(|lr_scheduler")
_PRIVATE = re.compile(r"optim|sched|scaler|rng|random|ema", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Saved:
    """One dict of a checkpoint with a state dict in it."""

    module: ModuleFacts
    keys: dict[str, ast.expr]


class SavedStateNotRestored(Rule):
    """The checkpoint holds the state of the optimizer, and resuming does not take it."""

    code, symbol = "W7610", "saved-state-not-restored"
    message = "the checkpoint holds `%(key)s`, and no code reads it back: training resumes without it"
    advice = "Restore it where the rest is restored: `%(typed)s`."
    why = (
        "Adam's moments and a scheduler's step are part of the training. A run that resumes without them takes "
        "other steps than one that was not interrupted."
    )
    symptom = Symptom.WRONG_NUMBERS
    runtime = "Nothing fails; the loss jumps after each restart and runs another way."
    limits = (
        "Only where one tree saves a dict with the state and resumes from it (it reads the step or epoch of the "
        "same dict), and the key is written nowhere else."
    )
    guide = "beyond the guide"

    bad = """
    import torch
    from megatron.core import parallel_state


    def save(path, step, model, optimizer):
        state = {
            "step": step,
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),  # [saved-state-not-restored]
        }
        torch.save(state, path)


    def resume(path, model, optimizer):
        state = torch.load(path, map_location="cpu")
        model.load_state_dict(state["model"])
        return state["step"]
    """
    good = """
    import torch
    from megatron.core import parallel_state


    def save(path, step, model, optimizer):
        state = {"step": step, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
        torch.save(state, path)


    def resume(path, model, optimizer):
        state = torch.load(path, map_location="cpu")
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        return state["step"]
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        resumed = _resumed(project)
        if not resumed:
            return
        for saved in _saved(project):
            progress = _PROGRESS & set(saved.keys)
            takers = [read for read in resumed if progress & read and set(saved.keys) & (read - progress)]
            for key, node in saved.keys.items() if takers else ():
                kept = isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".state_dict")
                if kept and _PRIVATE.search(key) and _written(project, key) == 1:
                    holder = ast.unparse(node).removesuffix(".state_dict()")
                    typed = f'{holder}.load_state_dict(state["{key}"])'
                    yield self.finding(place_of(saved.module, node), object=key, key=key, typed=typed)


def _written(project: Project, word: str) -> int:
    """How often a text stands in quotes in the tree."""
    places = [module for module in project.modules if word in module.text]
    return sum(module.text.count(f"{quote}{word}{quote}") for module in places for quote in "\"'")


def _saved(project: Project) -> Iterator[Saved]:
    for frame in functions(project, _SAVES):
        saves = [node for node in frame.scope.calls if _is(frame, node, "torch.save")]
        for call in saves:
            held = (
                [call.args[0], *(value for value, _ in frame.definitions(call.args[0]))] if call.args else []
            )
            for node in held:
                if isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant) for key in node.keys):
                    keys = {
                        str(getattr(key, "value", "")): value
                        for key, value in zip(node.keys, node.values, strict=True)
                    }
                    yield Saved(frame.module, keys)


def _resumed(project: Project) -> list[set[str]]:
    """The keys that each function with a `torch.load` reads; none where it walks over all of them."""
    found: list[set[str]] = []
    for frame in functions(project, _LOADS):
        if not frame.module.says(_TRAINS):
            continue  # it evaluates: what it leaves is none of its business
        if not any(_is(frame, node, "torch.load") for node in frame.scope.calls):
            continue
        keys: set[str] = set()
        for node in frame.scope.nodes:
            if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
                keys.add(str(node.slice.value))
            elif isinstance(node, ast.Call) and node.args and isinstance(node.func, ast.Attribute):
                if node.func.attr not in ("get", "pop"):
                    continue
                keys.add(str(getattr(node.args[0], "value", "")))
        found.append(keys)
    return found


def _is(frame: Frame, call: ast.Call, name: str) -> bool:
    return frame.external(call.func) == name
