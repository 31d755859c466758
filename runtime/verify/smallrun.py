"""One process of the numbers part: one tensor-parallel rank, with all stages one after the other, on the CPU."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.overrides import TorchFunctionMode

from ..errors import UserError
from . import device
from .collectives import Recorder
from .plan import Plan
from .results import Finding
from .script import Script, Workplace, build_original, build_stage
from .tracking import shown


class Failed(Exception):
    """The run ends here; what is wrong was noted."""


class SmallRun:
    """The rank of this process: its stages, the original, and what was found.

    Attributes:
        stages: all stages of the model, as this tensor-parallel rank holds them.
        original: the plain model.
        names: for each stage, {parameter: parameter of the original}.
        cuts: for each stage, {parameter: dimension in which it is a shard, or None}.
        number: the stage under way, for messages.
        is_one_rank: the original is the model itself on one rank, see `onerank`.
        group_of_one: the process group of this rank alone, where it is.
        orders: of parameters that their constructor cuts in another order: which rows of the whole they are.
        whole_output: the shape of the original's result, where it is the model on one rank.
    """

    def __init__(self, plan: Plan, rank: int, port: int, known: dict, overrides: dict[str, object]) -> None:
        self.plan, self.rank, self.port, self.known, self.overrides = plan, rank, port, known, overrides
        self.findings: list[Finding] = []
        self.notes: list[str] = []
        self.facts: dict[str, object] = {}
        self.types: dict[str, str] = {}
        self.number: int | None = None
        self.stages: list[nn.Module] = []
        self.names: list[dict[str, str]] = []
        self.cuts: list[dict[str, int | None]] = []
        self.is_one_rank = False
        self.group_of_one: dist.ProcessGroup | None = None
        self.orders: dict[str, torch.Tensor] = {}
        self.whole_output: tuple[int, ...] = ()

    def work(self) -> dict:
        """All comparisons, the most telling first; a failure ends the run."""
        from . import differences, onerank, replicas, saving, weights

        failed = False
        try:
            self._start()
            self.guarded(self._build)
            weights.start_alike(self)
            (onerank if self.is_one_rank else weights).load(self)
            self.guarded(differences.compare, self)
            if self.plan.tp > 1:
                self.guarded(replicas.check, self)
                self.guarded(saving.check, self)
        except Failed:
            failed = True
        found = {"findings": self.findings, "notes": self.notes, "facts": self.facts, "types": self.types}
        return found | {"failed": failed}

    def guarded(self, work: Callable, *args):
        """The result of `work`; an exception is noted and ends the run."""
        self.tracker.reset()
        try:
            return work(*args)
        except Failed:
            raise
        except Exception as error:
            found = self.tracker.failure(error, "crash", self.number, self.rank)
            if isinstance(error, UserError) and not found.path:
                found = dataclasses.replace(found, kind="usage", message=str(error))
            if not found.path and self.number is not None and self.number < len(self.stages):
                places = self.tracker.places_around(self.stages[self.number], "")
                found = dataclasses.replace(found, path=places[0][0], line=places[0][1], also=places)
            self.findings.append(found)
            raise Failed from error

    @property
    def tp_rank(self) -> int:
        """Which of the tensor-parallel ranks this is."""
        return self.rank % self.plan.tp

    def from_tp_ranks(self, value: object) -> list:
        """What every tensor-parallel rank that holds the same tokens gives."""
        from megatron.core import parallel_state

        everywhere: list = [None] * self.plan.tp
        dist.all_gather_object(everywhere, value, group=parallel_state.get_tensor_model_parallel_group())
        return everywhere

    def on_any_rank(self, flag: bool) -> bool:
        """Whether a flag is up on any rank: what follows is collective, so all must go the same way."""
        raised = torch.tensor(int(flag))
        dist.all_reduce(raised)
        return raised.item() > 0

    def _start(self) -> None:
        from megatron.core import parallel_state

        modes = device.use_cpu()
        torch.set_num_threads(1)
        size = self.plan.tp * self.plan.parts
        self.workplace = Workplace.prepare(self.plan, self.overrides)
        self.tracker = self.workplace.tracker
        self.tracker.modes = modes
        os.environ |= {"LOCAL_RANK": str(self.rank), "RANK": str(self.rank), "WORLD_SIZE": str(size)}
        wait = timedelta(seconds=self.plan.limit)
        store = dist.TCPStore("127.0.0.1", self.port, size, self.rank == 0, wait)
        dist.init_process_group("gloo", store=store, rank=self.rank, world_size=size, timeout=wait)
        sizes = {"context_parallel_size": self.plan.parts, "create_gloo_process_groups": False}
        parallel_state.initialize_model_parallel(self.plan.tp, 1, **sizes)
        self.recorder = Recorder(self.tracker)
        self.recorder.install()
        self.script: Script = self.guarded(self.workplace.run_script)

    def _build(self) -> None:
        self.number = 0
        self.stages.append(build_stage(self.script, 0, self.known["num_stages"]))
        self.count = self.script.num_stages or self.known["num_stages"]
        for number in range(1, self.count):
            self.number = number
            self.stages.append(build_stage(self.script, number, self.count))
        self.number = None
        for stage in self.stages:
            stage.float()
            self.tracker.name(stage)
        torch.manual_seed(1)
        from . import onerank

        original = build_original(self.workplace, self.stages[0])
        original = onerank.build(self) if original is None else original
        if original is None:
            self.notes.append("no original model was found: name it with --original to compare numbers")
            raise Failed
        self.original = original.float()

    def world_of_original(self) -> contextlib.AbstractContextManager[None]:
        """Inside, the original finds the world that it was built in."""
        from . import onerank

        return onerank.alone(self) if self.is_one_rank else contextlib.nullcontext()

    @contextlib.contextmanager
    def mode(self, mode: TorchFunctionMode) -> Iterator[None]:
        """Inside, `mode` is in force, and also where backward recomputes."""
        self.tracker.modes.append(mode)
        try:
            with mode:
                yield
        finally:
            self.tracker.modes.remove(mode)

    # -- findings ----------------------------------------------------------------------------------------------

    def add(
        self, kind: str, message: str, number: int, path: str, rule: str = "", senders: Sequence[int] = ()
    ) -> None:
        """Note a fault of the module at `path` of a stage, or of the innermost of the user's around it; `senders` are
        stages that may have sent it something wrong.
        """
        stage = self.stages[number]
        path = path if self.holds(number, path) else ""
        while path and not self.tracker.place_of(stage.get_submodule(path))[0]:
            path = path.rpartition(".")[0]
        cls = type(stage.get_submodule(path)).__name__
        places = self.tracker.places_around(stage, path)
        place = next(iter(places), ("", 0))
        before = [place for n in senders for place in self.tracker.places_around(self.stages[n], "")]
        places = tuple(dict.fromkeys((*places, *before)))
        self.findings.append(
            Finding(kind, message, number, (self.rank,), path, cls, "", *place, rule, (), places)
        )

    def add_to_script(self, kind: str, message: str, rule: str) -> None:
        """Note a fault of the training script."""
        code = getattr(self.script.given.get("forward_step_func"), "__code__", None)
        place = (
            (shown(self.plan.script), 1) if code is None else (shown(code.co_filename), code.co_firstlineno)
        )
        self.findings.append(Finding(kind, message, None, (self.rank,), "", "", "", *place, rule))

    def holds(self, number: int, path: str) -> bool:
        """Whether a stage has a module of this path."""
        try:
            self.stages[number].get_submodule(path)
        except AttributeError:
            return False
        return True


def rank_of_world(plan: Plan, rank: int, port: int, known: dict, overrides: dict[str, object]) -> dict:
    """The work of one process."""
    return SmallRun(plan, rank, port, known, overrides).work()
