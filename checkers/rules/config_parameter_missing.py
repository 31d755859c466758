"""E7304"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.nodes import walk
from ..finding import Evidence, Finding
from ..language import tr
from ..project.distributed import distributed_classes
from ..project.project import dotted_name
from ..project.stage_classes import parameters
from ..rule import Rule, Symptom
from ..tpstate.callers import callee_text, head, inner_steps, owner_of
from ..tpstate.config_chain import dropped_configs, has_config
from ..tpstate.fixes import add_parameter, set_keyword, unsafe
from ..tpstate.layers import label
from ..tpstate.verdicts import at, place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class ConfigParameterMissing(Rule):
    """A module that holds parallel layers takes no config, so it has none to give them."""

    code, symbol = "E7304", "config-parameter-missing"
    message = "`%(cls)s.__init__` takes no `config`, and `%(layer)s` below it needs one"
    advice = (
        "Add `%(parameter)s` to its parameters and pass it on: `config=config` in `%(call)s` (line %(line)d)."
    )
    why = "The Megatron config must reach every parallel layer from the stage, through every module between."
    symptom = Symptom.CRASH
    runtime = "TypeError: missing keyword-only argument 'config', or AttributeError on None, when the layer is built"
    limits = "Silent where a config comes from elsewhere: from `get_args()`, an attribute, `**kwargs` or a closure."
    guide = "2.3: the chain of config"
    maturity = "stable"
    fix_kind = "unsafe"
    fix_note = "Whoever builds the module has to pass the config on."

    bad = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class WideDistributedMlp(nn.Module):
        def __init__(self, dim):  # [config-parameter-missing]
            super().__init__()
            self.fc = ColumnParallelLinear(dim, dim, init_method=nn.init.zeros_, gather_output=True)
    """
    good = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class WideDistributedMlp(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=nn.init.zeros_, gather_output=True)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        if analysis.project.follows_guide:
            yield from self._made_inside(analysis)
        seen = set()
        for site, event in dropped_configs(analysis.log.events):
            cls = owner_of(site)
            if (
                cls is None
                or id(cls) in seen
                or has_config(site) is not None
                or "__init__" not in cls.methods
            ):
                continue
            method = cls.methods["__init__"]
            if site.function is not method or method.args.kwarg is not None:
                continue
            seen.add(id(cls))
            parameter = "config=None" if method.args.defaults else "config"
            yield self.finding(
                head(site, method),
                object=cls.name,
                evidence=(
                    at(site, tr("`%(site)s` is built here without a config", site=callee_text(site))),
                    *inner_steps(event, site, tr("`%(obj)s` needs it here", obj=label(event.obj))),
                ),
                fix=unsafe(
                    add_parameter(site.module, method, parameter),
                    set_keyword(site.module, site.node, "config", "config"),
                ),
                cls=cls.name,
                parameter=parameter,
                layer=label(event.obj),
                call=callee_text(site),
                line=site.node.lineno,
            )

    def _made_inside(self, analysis: Analysis) -> Iterator[Finding]:
        """A distributed module that makes its config: the guide has each of them take the one of its stage."""
        for cls in distributed_classes(analysis.project):
            method = cls.methods.get("__init__")
            if (
                method is None
                or method.args.kwarg is not None
                or any("config" in name for name in parameters(method))
            ):
                continue
            for node in walk(method):
                if isinstance(node, ast.Call) and (dotted_name(node.func) or "").endswith(_MAKER):
                    yield self.finding(
                        place_of(cls.module, method),
                        object=cls.name,
                        evidence=(Evidence(cls.module.display, node.lineno, tr("it is made here")),),
                        message="`%(cls)s.__init__` takes no `config`, and makes one of its own",
                        advice="Add `config=None` to its parameters; what builds it passes that of the stage on.",
                        cls=cls.name,
                    )
                    break


_MAKER = "core_transformer_config_from_args"
