"""Forward and backward of one stage on the meta device, and what it sends, receives, holds and costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from . import ending, parameters
from .costs import Kept, Live, all_of, counter
from .results import Finding, StageFigures
from .script import Script, call_step
from .tracking import describe, shown

if TYPE_CHECKING:
    from .dryrun import DryRun


def look(role: DryRun, script: Script, stage: nn.Module, known: dict) -> dict:
    """Forward and backward of one stage, with what is known of its parameters."""
    number = role.number
    held = {
        name: (
            tuple(p.shape),
            getattr(p, "partition_dim", None) if getattr(p, "tensor_model_parallel", False) else None,
        )
        for name, p in stage.named_parameters()
    }
    extra = {
        "parameters": held,
        "num_stages": script.num_stages,
        "shapes": script.shapes.stage_shapes if script.shapes is not None else None,
        "owners": {name: _owner(role, stage, name) for name in held},
        "near": parameters.nearest(role.tracker, stage, known.get("parameters", {})),
        "root": role.tracker.place_of(stage),
        "built": role.tracker.built_at(stage),
        "saved": _saved_shapes(role, stage),
    }
    sizes = extra["shapes"]
    count = script.num_stages or 1
    received = None
    if number > 0:
        if sizes is None or number > len(sizes):
            role.notes.append(f"stage {number}: nothing says what it receives")
            return extra
        dtype = script.config().pipeline_dtype or torch.float32
        received = [
            torch.empty(tuple(shape), dtype=dtype, device="meta", requires_grad=True)
            for shape in sizes[number - 1]
        ]
    data = _data(known)
    if data is None and (number in (0, count - 1)):
        role.notes.append(
            f"stage {number}: what the model takes could not be told; give it with --input 1,CHANNELS,ROWS,COLUMNS"
        )
        return extra
    run = Run(role, script, stage, received, data, count)
    role.guarded(run.work)
    return {**extra, "figures": run.figures(), "sent": run.sent}


def _saved_shapes(role: DryRun, stage: nn.Module) -> dict[str, tuple[int, ...]]:
    """The shapes of the whole tensors that the stage's distributed checkpoint speaks of."""
    if not hasattr(stage, "sharded_state_dict"):
        return {}
    found = role.guarded(stage.sharded_state_dict, "checkpoint") or {}
    return {
        name: tuple(entry.global_shape) for name, entry in found.items() if hasattr(entry, "global_shape")
    }


def _owner(role: DryRun, stage: nn.Module, name: str) -> tuple[str, tuple[str, int], tuple]:
    """Class and places of the module that holds a parameter."""
    path = name.rpartition(".")[0]
    module = stage.get_submodule(path)
    while path and not role.tracker.built_at(module)[0]:
        path = path.rpartition(".")[0]
        module = stage.get_submodule(path)
    places = role.tracker.places_around(stage, path)
    return type(module).__name__, role.tracker.built_at(module), places


def _data(known: dict) -> list | None:
    if "input" not in known:
        return None
    with torch.device("meta"):
        return [torch.empty(known["input"]), torch.empty(known["outputs"][0])]


class Run:
    """Forward and backward, with everything counted."""

    def __init__(self, role: DryRun, script: Script, stage: nn.Module, received, data, count: int) -> None:
        self.role, self.script, self.stage = role, script, stage
        self.received, self.data, self.count = received, data, count
        self.is_last = role.number == count - 1
        self.flops = self.saved = self.kept = self.peak = self.sent_bytes = 0
        self.sent: list[tuple] = []
        given = received if received is not None else [data[0]] if data is not None else []
        self.received_bytes = sum(t.untyped_storage().nbytes() for t in given)

    def work(self) -> None:
        """One micro-batch."""
        versions = [t._version for t in self.received or ()]
        if self.received is not None:
            self.stage.set_input_tensor(list(self.received))
        flops = counter()
        before = [*self.stage.parameters(), *self.stage.buffers(), *(self.received or ()), *(self.data or ())]
        live = Live(before)
        # Counting takes as long as running: once is enough.
        counting = (flops, live) if self.role.counts else ()
        kept = Kept(self.stage.parameters())
        calls = len(self.role.recorder.messages)
        self.role.rolls.seen.clear()
        with all_of(counting), kept.watching():
            data = iter([self.data] * 8) if self.data is not None else iter(())
            x = self.data[0] if self.data is not None else None
            output, loss_func, problem = call_step(
                self.script, self.stage, self.role.number, self.count, data, x
            )
        self.kept = live.now
        if problem:
            self.role.notes.append(problem)
        self.saved = kept.bytes
        ending.by_hand(self, calls)
        ending.rolled(self)
        self._received_unchanged(versions)
        roots = ending.loss(self, output, loss_func) if self.is_last else self._sends(output)
        roots = [t for t in roots if t.requires_grad]
        if not roots and self._is_for_inference(output):
            self.role.notes.append(f"stage {self.role.number} keeps no gradients: backward is not run")
            return
        if not roots and (self.received or self.is_last):
            self.add(
                "gradient",
                "its result has no gradient: backward cannot reach this stage",
                "boundary-tensor-without-gradient",
            )
            return
        forward = flops.get_total_flops()
        with all_of(counting):
            torch.autograd.backward(roots, [torch.ones_like(t) for t in roots])
        self.flops = forward + flops.get_total_flops()
        self.peak = live.peak
        self._gradients()

    def add(
        self, kind: str, message: str, rule: str = "", module: str = "", cls: str = "", place=None, also=()
    ) -> None:
        place = place or self.role.tracker.place_of(self.stage)
        also = (*also, *self._script_places())
        cls = cls or type(self.stage).__name__
        self.role.findings.append(
            Finding(
                kind,
                message,
                self.role.number,
                (self.role.rank,),
                module,
                cls,
                "",
                *place,
                rule,
                (),
                tuple(also),
            )
        )

    def _script_places(self) -> tuple[tuple[str, int], ...]:
        """Where the script builds the stages and runs a step: the other side of what was found."""
        given = self.script.given
        functions = (given.get("model_provider"), given.get("forward_step_func"))
        codes = [function.__code__ for function in functions if hasattr(function, "__code__")]
        return tuple((shown(code.co_filename), code.co_firstlineno) for code in codes)

    def _is_for_inference(self, output) -> bool:
        """Whether a module named by itself runs without gradients, or ends in whole numbers: it is not for training."""
        if not self.role.plan.stages or self.count > 1:
            return False
        return not self.role.tracker.with_gradients or all(
            not t.is_floating_point() for t in (output if isinstance(output, tuple | list) else (output,))
        )

    def _received_unchanged(self, versions: list[int]) -> None:
        for index, (tensor, version) in enumerate(zip(self.received or (), versions, strict=True)):
            if tensor._version != version:
                self.add(
                    "boundary",
                    f"received tensor {index} is changed in place",
                    "received-tensor-changed-in-place",
                )

    def _sends(self, output) -> list[torch.Tensor]:
        """Check what goes to the next stage."""
        tensors = (output,) if isinstance(output, torch.Tensor) else output
        if not isinstance(tensors, tuple | list) or not all(isinstance(t, torch.Tensor) for t in tensors):
            self.add(
                "boundary",
                f"sends {describe([output])}: only tensors cross a boundary",
                "stage-passes-non-tensor",
            )
            return (
                [t for t in tensors if isinstance(t, torch.Tensor)]
                if isinstance(tensors, tuple | list)
                else []
            )
        actual = [tuple(t.shape) for t in tensors]
        said = self.script.shapes.stage_shapes
        if self.role.plan.stages and len(said) == self.role.number:
            said.append(
                [list(shape) for shape in actual]
            )  # stages without a script: what is sent is what is said
        expected = [tuple(shape) for shape in said[self.role.number]]
        self.sent = [(tuple(t.shape), str(t.dtype), t.is_contiguous()) for t in tensors]
        self.sent_bytes = sum(t.numel() * t.element_size() for t in tensors)
        if len(actual) != len(expected):
            self.add(
                "boundary",
                f"sends {len(actual)} tensors, but stage_shapes says {len(expected)}",
                "stage-shapes-mismatch",
            )
        elif actual != expected:
            self.add("boundary", f"sends {actual}, but stage_shapes says {expected}", "stage-shapes-mismatch")
        carried = self.script.config().pipeline_dtype or torch.float32
        for index, tensor in enumerate(tensors):
            if tensor.dtype != carried:
                self.add(
                    "boundary",
                    f"sends tensor {index} as {tensor.dtype}, but the pipeline carries {carried}",
                    "boundary-dtype-mismatch",
                )
            elif not tensor.requires_grad:
                self.add(
                    "gradient",
                    f"tensor {index} that it sends has no gradient",
                    "boundary-tensor-without-gradient",
                )
            if not tensor.is_contiguous():
                self.add(
                    "boundary", f"sends tensor {index} that is not contiguous", "stage-output-not-contiguous"
                )
        return list(tensors)

    def _gradients(self) -> None:
        for index, tensor in enumerate(self.received or ()):
            if tensor.is_floating_point() and tensor.grad is None:
                self.add(
                    "gradient",
                    f"received tensor {index} gets no gradient, which the stage before waits for",
                    "boundary-tensor-without-gradient",
                )
        missing: dict[str, list[str]] = {}
        for name, parameter in self.stage.named_parameters():
            if parameter.requires_grad and parameter.grad is None:
                missing.setdefault(name.rpartition(".")[0], []).append(name.rpartition(".")[2])
        if len(missing) > 12:
            self.add("gradient", f"{len(missing)} modules get no gradient, {next(iter(missing))} first")
            return
        for path, names in missing.items():
            module = self.stage.get_submodule(path)
            tracker = self.role.tracker
            around = tracker.places_around(self.stage, path)
            self.add(
                "gradient",
                f"{' and '.join(names)} of {path or 'the stage'} gets no gradient: it takes no part in the loss",
                "stage-module-unused",
                path,
                type(module).__name__,
                next((place for place in (tracker.built_at(module), *around) if place[0]), None),
                around,
            )

    def figures(self) -> StageFigures:
        """The costs."""
        count = sum(p.numel() for p in self.stage.parameters())
        kinds = tuple(type(child).__name__ for child in self.stage.children())
        return StageFigures(
            self.role.number,
            count,
            self.flops,
            self.saved,
            self.sent_bytes,
            self.received_bytes,
            self.kept,
            self.peak,
            modules=kinds,
        )
