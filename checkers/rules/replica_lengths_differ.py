"""W7745"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import as_code, walk
from ..finding import Finding
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_EVEN = re.compile(r"total_size|num_samples|padding|% ?self\.|//|\[:")


class ReplicaLengthsDiffer(Rule):
    """A sampler deals its samples out one by one, and some replicas get one more than others."""

    code, symbol = "W7745", "replica-lengths-differ"
    message = "`%(share)s` deals out all samples: where they do not divide evenly, some replicas get one more"
    advice = "Cut the order to a multiple first: `order[: len(order) // %(world)s * %(world)s]`."
    why = (
        "Every replica enters the same collectives in every step. One that runs out of data a step before the others "
        "leaves them waiting."
    )
    symptom = Symptom.HANG
    runtime = "the last step of an epoch hangs, where the number of samples is no multiple of the replicas"
    limits = "Samplers with `order[rank::world]` in a class that neither cuts nor pads the order anywhere."
    guide = "beyond the guide"
    bad = """
    import torch
    from megatron.core import parallel_state
    from torch.utils.data import Sampler


    class Replicas(Sampler):
        def __init__(self, dataset):
            self.dataset = dataset
            self.rank = parallel_state.get_data_parallel_rank()
            self.world = parallel_state.get_data_parallel_world_size()

        def __iter__(self):
            order = torch.randperm(len(self.dataset))
            return iter(order[self.rank :: self.world].tolist())  # [replica-lengths-differ]
    """
    good = bad.replace(
        "torch.randperm(len(self.dataset))",
        "torch.randperm(len(self.dataset))[: len(self.dataset) // self.world * self.world]",
    ).replace("  # [replica-lengths-differ]", "")

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for module in analysis.project.modules:
            if "Sampler" not in module.text or "::" not in module.text:
                continue
            for cls in module.classes.values():
                method = cls.methods.get("__iter__")
                if method is None or not any("Sampler" in as_code(base) for base in cls.node.bases):
                    continue
                written = "\n".join(as_code(part) for part in method.body)
                if _EVEN.search(written):
                    continue
                for node in walk(method):
                    part = node.slice if isinstance(node, ast.Subscript) else None
                    if isinstance(part, ast.Slice) and part.step is not None and part.lower is not None:
                        if "rank" in as_code(part.lower) and not isinstance(part.step, ast.Constant):
                            yield self.finding(
                                place_of(module, node),
                                object=cls.name,
                                share=as_code(node),
                                world=as_code(part.step),
                            )
