"""E7301"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..project.dict_interface import dict_forwards, objects_with_mask, unsafe_mask_reads
from ..rule import Rule, Scope, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class FuserMaskAccessUnsafe(Rule):
    """A forward of the dict interface reads the mask as if there always were one."""

    code, symbol = "E7301", "fuser-mask-access-unsafe"
    message = "`%(read)s` in `%(cls)s.forward` fails where no mask is given"
    advice = "Write `%(safe)s`."
    why = "Models without a land-sea mask call the same modules and leave the mask out: it has to default to None."
    symptom = Symptom.CRASH
    runtime = "KeyError: 'mask', or AttributeError: no attribute 'mask'"
    limits = (
        "Silent after a test for the mask, where the forward itself stored one before, and where every object "
        "of the tree that holds `x` holds `mask` too; undecided where there is none."
    )
    guide = "Principle 12: one forward interface for fusers"
    scope = Scope.GUIDE

    bad = """
    from types import SimpleNamespace

    from torch import nn


    class IceDistributedFuser(nn.Module):
        def forward(self, obj):
            if isinstance(obj, dict):
                x = obj["x"]
                mask = obj["mask"]  # [fuser-mask-access-unsafe]
            else:
                x = obj.x
                mask = obj.mask  # [fuser-mask-access-unsafe]
                obj = {"x": x, "mask": mask}
            return x if mask is None else x * mask


    def run(fuser, x):
        return fuser(SimpleNamespace(x=x))
    """
    good = """
    from torch import nn


    class IceDistributedFuser(nn.Module):
        def forward(self, obj):
            if isinstance(obj, dict):
                x = obj["x"]
                mask = obj.get("mask")
            else:
                x = obj.x
                mask = getattr(obj, "mask", None)
                obj = {"x": x, "mask": mask}
            return x if mask is None else x * mask
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        objects = objects_with_mask(analysis.project)
        for forward in dict_forwards(analysis.project):
            for node in unsafe_mask_reads(forward):
                by_key = forward.is_key(node, "mask")
                if not by_key and objects is True:
                    continue
                name = forward.name
                yield self.finding(
                    place_of(forward.cls.module, node),
                    object=forward.cls.name,
                    decided=by_key or objects is False,
                    read=f'{name}["mask"]' if by_key else f"{name}.mask",
                    cls=forward.cls.name,
                    safe=f'{name}.get("mask")' if by_key else f'getattr({name}, "mask", None)',
                )
