"""W7625"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts
from ..facts.nodes import as_code, walk
from ..finding import Finding
from ..project.project import dotted_name
from ..rule import Rule, Symptom
from ..tpstate.fixes import replace, unsafe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis

_CASTS = re.compile(r"\.to\(|type_as|\.half\(|\.bfloat16\(|autocast|dtype=")
_NORM = re.compile(r"Norm")


class NormResultNotCast(Rule):
    """A norm computes in float32 and hands that on, though its weight has the type of the model."""

    code, symbol = "W7625", "norm-result-not-cast"
    message = (
        "`%(cls)s` computes in float32 and returns that: the layers behind it have weights of `%(dtype)s`"
    )
    advice = "Return `(%(result)s).to(%(input)s.dtype)`."
    why = (
        "float32 times a 16-bit weight is float32. A linear layer with 16-bit weights refuses such an input, and a "
        "residual sum in float32 doubles what the pipeline sends."
    )
    symptom = Symptom.CRASH
    runtime = "`expected mat1 and mat2 to have the same dtype` in 16 bits; nothing in float32"
    limits = "Classes named Norm whose weight is given a dtype, and whose forward casts its input up and nothing down."
    guide = "beyond the guide"
    fix_kind = "unsafe"
    fix_note = "What follows may be meant to get float32."

    bad = """
    # between tensor_parallel layers
    import torch
    from torch import nn


    class RootNorm(nn.Module):
        def __init__(self, dim, dtype=None):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(dim, dtype=dtype))

        def forward(self, x):
            y = x.float() * torch.rsqrt(x.float().pow(2).mean(dim=-1, keepdim=True) + 1e-6)
            return y * self.weight  # [norm-result-not-cast]
    """
    good = bad.replace(
        "return y * self.weight  # [norm-result-not-cast]", "return (y * self.weight).to(x.dtype)"
    )

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for module in analysis.project.modules:
            if "Norm" not in module.text or ".float()" not in module.text:
                continue
            for cls in module.classes.values():
                forward, dtype = cls.methods.get("forward"), _own_type(cls)
                if (
                    forward is None
                    or dtype is None
                    or not _NORM.search(cls.name)
                    or len(forward.args.args) != 2
                ):
                    continue
                given = forward.args.args[1].arg
                text = "\n".join(as_code(part) for part in forward.body)
                if f"{given}.float()" not in text or _CASTS.search(text):
                    continue
                for node in forward.body:
                    if isinstance(node, ast.Return) and node.value is not None:
                        yield self.finding(
                            place_of(module, node),
                            object=cls.name,
                            fix=unsafe(
                                replace(module, node.value, f"({as_code(node.value)}).to({given}.dtype)")
                            ),
                            cls=cls.name,
                            dtype=dtype,
                            result=as_code(node.value),
                            input=given,
                        )


def _own_type(cls: ClassFacts) -> str | None:
    """The dtype that a constructor gives to the weight, where it is not float32."""
    init = cls.methods.get("__init__")
    for node in walk(init) if init is not None else ():
        if isinstance(node, ast.Assign) and dotted_name(node.targets[0]) == "self.weight":
            for part in walk(node.value):
                if isinstance(part, ast.keyword) and part.arg == "dtype":
                    text = as_code(part.value)
                    return None if text in ("torch.float32", "torch.float") else text
    return None
