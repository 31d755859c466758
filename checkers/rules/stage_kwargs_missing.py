"""W7203"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..project.stages import Stages
from ..rule import Rule, Scope, Symptom
from ..tpstate.fixes import add_parameter, safe
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class StageKwargsMissing(Rule):
    """The constructor of a stage takes no `**kwargs`."""

    code, symbol = "W7203", "stage-kwargs-missing"
    message = "`%(cls)s.__init__` has no `**kwargs`"
    advice = "End the parameter list with `**kwargs`."
    why = (
        "OneScience's Module binds constructor arguments strictly in `__new__`. The training script gives one set of "
        "arguments to all stages, so the first argument that only one of them needs stops all the others."
    )
    symptom = Symptom.TRAP
    runtime = "TypeError: got an unexpected keyword argument"
    limits = "Only classes that a number in the name, a map or their own branches by rank make one of several stages."
    guide = "Principle 11, trap 4: strict signatures of Module"
    scope = Scope.GUIDE
    fix_kind = "safe"
    fix_note = "Every call that is right stays right."

    bad = """
    from onescience.modules.module import Module


    class Net_stage0(Module):
        def __init__(self, img_size, embed_dim=192, config=None):  # [stage-kwargs-missing]
            super().__init__()
            self.input_tensor = None
    """
    good = """
    from onescience.modules.module import Module


    class Net_stage0(Module):
        def __init__(self, img_size, embed_dim=192, config=None, **kwargs):
            super().__init__()
            self.input_tensor = None
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for stage in analysis.project.knowledge(Stages):
            init = stage.cls.methods.get("__init__")
            if init is None or init.args.kwarg is not None or not stage.is_one_of_several:
                continue
            module = stage.cls.module
            yield self.finding(
                place_of(module, init),
                object=stage.cls.name,
                fix=safe(add_parameter(module, init, "**kwargs")),
                cls=stage.cls.name,
            )
