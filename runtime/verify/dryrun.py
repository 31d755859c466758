"""One process of the shapes part: all stages of one tensor-parallel rank, one after the other, on the meta device."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

from ..errors import UserError
from . import datasets, device, onestage, original
from .collectives import Recorder
from .plan import Plan
from .processes import say_doing
from .results import Finding
from .rolls import Rolls
from .script import Script, Workplace, build_stage
from .tracking import shown

_NEEDS_GPU = ("Torch not compiled with CUDA", "Found no NVIDIA driver", "No CUDA GPUs are available")


def join_fake_world(plan: Plan, rank: int) -> None:
    """Be one rank of the whole layout, alone: collectives answer at once and change nothing."""
    from megatron.core import parallel_state
    from torch.testing._internal.distributed.fake_pg import FakeStore

    size = plan.tp * plan.parts * plan.pp * plan.dp
    os.environ |= {"LOCAL_RANK": str(rank), "RANK": str(rank), "WORLD_SIZE": str(size)}
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=size)
    sizes = {"context_parallel_size": plan.parts, "create_gloo_process_groups": False}
    parallel_state.initialize_model_parallel(plan.tp, plan.pp, **sizes)


class DryRun:
    """The rank of this process."""

    def __init__(self, plan: Plan, rank: int, overrides: dict[str, object] | None = None) -> None:
        self.plan, self.rank, self.overrides = plan, rank, overrides
        self.number = 0
        self.kinds: set[type[nn.Module]] = set()
        self.stage_module: nn.Module | None = None
        self.dtype = torch.float32
        self.counts = rank == 0  # whether costs are counted: one rank shows them
        self.findings: list[Finding] = []
        self.notes: list[str] = []

    def start(self) -> Script | None:
        """Join the world and run the script; None where that fails."""
        modes = device.use_meta()
        torch.set_num_threads(1)
        self.workplace = Workplace.prepare(self.plan, self.overrides)
        self.tracker = self.workplace.tracker
        self.tracker.modes = modes
        datasets.unseeded()
        join_fake_world(self.plan, self.rank)
        self.recorder = Recorder(self.tracker)
        self.recorder.install()
        self.rolls = Rolls(self.tracker.innermost, lambda: self.recorder.caller(3))
        modes[-1].watch = self.rolls.note
        return self.guarded(self.workplace.run_script)

    def guarded(self, work, kind: str = "crash"):
        """The result of `work`; an exception becomes a finding, and None is returned."""
        self.tracker.reset()
        try:
            return work()
        except Exception as error:
            found = self.tracker.failure(error, kind, None if self.number < 0 else self.number, self.rank)
            if device.undecided(error):
                self.notes.append(
                    f"{found.where}: {found.path}:{found.line} asks for the numbers of a tensor, which a dry run "
                    f"does not have ({found.message[:120]}): use --numbers for what follows"
                )
            elif any(words in str(error) for words in _NEEDS_GPU):
                self.notes.append(
                    f"{found.where}: {found.path}:{found.line} calls what only a GPU can do: keep it out of "
                    "constructors and forward, or behind torch.cuda.is_available()"
                )
            elif isinstance(error, UserError) and not found.path:
                self.findings.append(dataclasses.replace(found, kind="usage", message=str(error)))
            else:
                if not found.path and self.stage_module is not None:
                    places = self.tracker.places_around(self.stage_module, "")
                    found = dataclasses.replace(found, path=places[0][0], line=places[0][1], also=places)
                self.findings.append(found)
            return None

    def build(self, script: Script, number: int) -> nn.Module | None:
        """The stage on the meta device; built on the CPU first where its constructor needs numbers."""

        def make() -> nn.Module:
            count = script.num_stages or self.plan.pp
            with torch.device("meta"):
                return build_stage(script, number, count)

        def make_on_cpu() -> nn.Module:
            return build_stage(script, number, script.num_stages or self.plan.pp)

        self.tracker.reset()
        try:
            stage = make()
        except Exception as error:
            stage = self.guarded(make_on_cpu if device.undecided(error) else make)
        if stage is None:
            return None
        dtype = getattr(getattr(stage, "config", None), "params_dtype", None) or torch.float32
        stage = stage.to("meta").to(dtype)
        self.dtype = dtype
        if dtype in (torch.bfloat16, torch.float16):
            device.cast_at_the_ends(
                stage, dtype, number == 0, number == (script.num_stages or self.plan.pp) - 1
            )
        self.tracker.name(stage)
        return stage

    def stage(self, script: Script, number: int, known: dict) -> dict:
        """Build, run and measure one stage; what is to be compared with the others."""
        self.number = number
        say_doing(f"stage {number}")
        before = len(self.recorder.calls)
        found: dict = {}
        stage = self.build(script, number) if number else self.first
        if stage is None:
            found["failed"] = True
        else:
            failures = len(self.findings)
            self.stage_module = stage
            self.kinds.add(type(stage))
            self._has_config(stage)
            found = onestage.look(self, script, stage, known)
            self.stage_module = None
            found["calls"] = self.recorder.calls[before:]
            if self.rank == 0 and not found.get("failed") and len(self.findings) == failures:
                self._recomputed(script, number, known)
            found["failed"] = any(f.kind == "crash" for f in self.findings[failures:])
        found.setdefault("calls", self.recorder.calls[before:])
        return found

    def _has_config(self, stage: nn.Module) -> None:
        """The schedule asks every stage for its config; a module that is named by itself is no stage."""
        from megatron.core.utils import get_model_config

        if len(self.plan.stages) == 1:
            return
        try:
            get_model_config(stage)
        except RuntimeError:
            text = "the schedule reads `config` of every stage (get_model_config); this one has none, or None"
            cls, places = type(stage).__name__, self.tracker.places_around(stage, "")
            place = next(iter(places), ("", 0))
            rule = "stage-attribute-missing"
            self.findings.append(
                Finding("crash", text, self.number, (self.rank,), "", cls, "", *place, rule, (), places)
            )

    def on_one_rank(self, script: Script) -> int | None:
        """How many numbers the parameters of one class for all stages hold where one rank has all of them."""
        self.number = -1
        try:
            with torch.device("meta"):
                stage = build_stage(script, 0, 1)
        except Exception:
            return None  # it was not made for one rank
        return (
            sum(parameter.numel() for parameter in stage.parameters())
            if self.kinds == {type(stage)}
            else None
        )

    def _recomputed(self, script: Script, number: int, known: dict) -> None:
        """Once more with activations recomputed in backward, where the stage knows of it and was not asked to."""
        flags = {"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1}
        if getattr(script.args, "recompute_granularity", "full") or not self._knows_recomputing():
            return
        kept = {name: getattr(script.args, name, None) for name in flags}
        before = len(self.findings)
        self.counts = False
        try:
            for name, value in flags.items():
                setattr(script.args, name, value)
            self.stage_module = self.build(script, number)
            if self.stage_module is not None:
                onestage.look(self, script, self.stage_module, known)
        finally:
            self.counts = True
            self.stage_module = None
            for name, value in kept.items():
                setattr(script.args, name, value)
        self.findings[before:] = [
            dataclasses.replace(f, message=f"with --recompute-granularity full: {f.message}")
            for f in self.findings[before:]
        ]

    def _knows_recomputing(self) -> bool:
        """Whether the code of the stage speaks of it."""
        for cls in type(self.stage_module or self.first).__mro__:
            code = sys.modules.get(cls.__module__)
            file = getattr(code, "__file__", None)
            if file and self.tracker.owns(file) and "recompute" in Path(file).read_text("utf-8", "replace"):
                return True
        return False


def role(plan: Plan, rank: int, overrides: dict[str, object] | None, only_original: bool = False) -> dict:
    """All that one rank of the tensor-parallel and window-parallel ones shows: the original, then every stage."""
    run = DryRun(plan, rank, overrides)
    script = run.start()
    known: dict = {}
    stages: dict[int, dict] = {}
    data = datasets.Looked()
    if script is not None:
        run.first = run.build(script, 0)
        known = original.look(run, script)
        if not only_original and plan.pp <= (script.num_stages or plan.pp):
            for number in range(script.num_stages or plan.pp):
                stages[number] = run.stage(script, number, known)
            known["on one rank"] = run.on_one_rank(script) if not plan.original and plan.pp > 1 else None
            data = datasets.look(plan, script, run.tracker, rank, script.num_stages or plan.pp)
            run.findings += data.findings
            run.notes += data.notes
    run.notes += run.workplace.masks.notes
    for (path, line), count in device.conditions.items():
        if run.tracker.owns(path):
            run.notes.append(
                f"{shown(path)}:{line} asks for the numbers of a tensor, which a dry run does not have: the condition "
                f"was taken as true, {count} times"
            )
    return {"findings": run.findings, "notes": run.notes, "known": known, "stages": stages, "data": data}
