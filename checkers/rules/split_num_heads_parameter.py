"""C7110"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..language import listed
from ..rule import Rule, Scope, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class SplitNumHeadsParameter(Rule):
    """A distributed fuser takes more than one head count."""

    code, symbol = "C7110", "split-num-heads-parameter"
    message = "`%(cls)s` takes %(names)s instead of one `num_heads`"
    advice = "Take a single `num_heads`; the stage passes `num_heads[i]`."
    why = "All fusers are built alike by the stages; a second head count needs a second rule of divisibility."
    symptom = Symptom.LAYOUT
    runtime = "nothing by itself; stages written for the common interface cannot build it"
    limits = "Looks at classes named *DistributedFuser."
    guide = "Principle 9: one num_heads for every part of a fuser"
    scope = Scope.GUIDE

    bad = """
    from torch import nn


    class XiheDistributedFuser(nn.Module):
        def __init__(self, dim, num_heads_local=6, num_heads_global=12, config=None):  # [split-num-heads-parameter]
            super().__init__()
            self.heads = (num_heads_local, num_heads_global)
    """
    good = """
    from torch import nn


    class XiheDistributedFuser(nn.Module):
        def __init__(self, dim, num_heads=6, config=None):
            super().__init__()
            self.heads = (num_heads, num_heads)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for cls in analysis.project.classes():
            method = cls.methods.get("__init__")
            if not cls.name.endswith("DistributedFuser") or method is None:
                continue
            counts = [
                arg for arg in (*method.args.args, *method.args.kwonlyargs) if arg.arg.startswith("num_heads")
            ]
            if len(counts) > 1:
                names = listed(" and ", (f"`{arg.arg}`" for arg in counts))
                yield self.finding(
                    place_of(cls.module, counts[0]), object=cls.name, cls=cls.name, names=names
                )
