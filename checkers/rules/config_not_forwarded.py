"""E7305"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..finding import Finding
from ..language import tr
from ..rule import Rule, Symptom
from ..tpstate.callers import callee_text, inner_steps, written_in
from ..tpstate.config_chain import dropped_configs, has_config
from ..tpstate.fixes import safe, set_keyword
from ..tpstate.layers import label
from ..tpstate.verdicts import site_place

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class ConfigNotForwarded(Rule):
    """A module has the Megatron config and builds something that needs it without passing it on."""

    code, symbol = "E7305", "config-not-forwarded"
    message = (
        "`%(call)s` is not given the config, so `%(layer)s` at the end of the chain is built without one"
    )
    advice = "Pass `%(name)s` here."
    why = (
        "Every parallel layer reads its sizes, dtype and initialisation from the Megatron config, which travels from "
        "the stage down to it; one call that leaves it out breaks the chain for all that lies below."
    )
    symptom = Symptom.CRASH
    runtime = "AttributeError: 'NoneType' object has no attribute 'params_dtype', when the layer is built"
    limits = "Silent where the config goes through `**kwargs` that cannot be seen, and where a default is filled in."
    guide = "2.3: the chain of config"
    maturity = "stable"
    fix_kind = "safe"
    fix_note = (
        "The chain ends in an error as it is, and the config that is passed is the one the module holds."
    )

    bad = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class WideDistributedMlp(nn.Module):
        def __init__(self, dim, config=None):
            super().__init__()
            self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=nn.init.zeros_, gather_output=True)


    class WideDistributedFuser(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.mlp = WideDistributedMlp(dim)  # [config-not-forwarded]
    """
    good = """
    from megatron.core.tensor_parallel import ColumnParallelLinear
    from torch import nn


    class WideDistributedMlp(nn.Module):
        def __init__(self, dim, config=None):
            super().__init__()
            self.fc = ColumnParallelLinear(dim, dim, config=config, init_method=nn.init.zeros_, gather_output=True)


    class WideDistributedFuser(nn.Module):
        def __init__(self, dim, config):
            super().__init__()
            self.mlp = WideDistributedMlp(dim, config=config)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        for site, event in dropped_configs(analysis.log.events):
            name = has_config(site)
            if name is None:
                continue

            inner = inner_steps(
                event, site, tr("`%(obj)s` is built here without a config", obj=label(event.obj))
            )
            yield self.finding(
                site_place(site),
                object=written_in(site),
                evidence=inner,
                fix=safe(set_keyword(site.module, site.node, *name.split("="))) if "…" not in name else None,
                call=callee_text(site),
                layer=label(event.obj),
                name=name,
            )
