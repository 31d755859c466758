"""E7410"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ImportEdge, ModuleFacts
from ..finding import Evidence, Finding
from ..language import tr
from ..project.module_names import names_set, written_files
from ..project.project import Project
from ..project.registries import unreadable
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class ImportNotExported(Rule):
    """A file of a distributed model imports a name that the module of the tree does not have."""

    code, symbol = "E7410", "import-not-exported"
    message = "`%(name)s` is not in `%(module)s`: neither defined nor imported there, nor a module of its own"
    advice = "Import it from the module that defines it%(near)s."
    why = "The import fails on every rank as soon as the script starts, before anything else runs."
    symptom = Symptom.CRASH
    runtime = "ImportError: cannot import name 'Forecasts' from 'weather.data'"
    limits = (
        "Training scripts, stages and distributed modules; for modules of the tree that can be read whole. Silent for "
        "those with `import *`, `__getattr__` or `globals()`, and for imports in a `try`."
    )
    guide = "beyond the guide"

    bad = """
    from fields import Forecast  # [import-not-exported]
    from megatron.training import pretrain


    def main(model_provider, forward_step):
        pretrain(lambda sizes: (Forecast(), None, None), model_provider, None, forward_step)
    """
    good = """
    from fields import Forecasts
    from megatron.training import pretrain


    def main(model_provider, forward_step):
        pretrain(lambda sizes: (Forecasts(), None, None), model_provider, None, forward_step)
    """
    beside = {"fields.py": "class Forecasts:\n    pass\n"}

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        for module in filter(project.is_asked, written_files(project)):
            for edge in module.edges:
                if (
                    edge.kind in ("module", "function")
                    and edge.names
                    and isinstance(edge.node, ast.ImportFrom)
                ):
                    yield from self._edge(project, module, edge)

    def _edge(self, project: Project, module: ModuleFacts, edge: ImportEdge) -> Iterator[Finding]:
        dotted = module.absolute(edge.module)
        home = project.find_module(dotted, module)
        if not isinstance(home, ModuleFacts) or home is module or project.is_framework(home):
            return
        known = names_set(home)
        for alias in edge.node.names:
            name = alias.name
            if known is None or name == "*" or name in known or name.startswith("__"):
                continue
            inner = f"{dotted}.{name}"
            if project.find_module(inner, module) is not None or unreadable(project, home, inner) is not None:
                continue
            near = sorted(
                other for other in known if name.lower() in other.lower() or other.lower() in name.lower()
            )
            near = [other for other in near if other[:1].isupper() == name[:1].isupper() and len(other) > 3]
            yield self.finding(
                place_of(module, alias),
                evidence=(Evidence(home.display, 1, tr("`%(module)s` is this file", module=dotted)),),
                name=name,
                module=dotted,
                near=tr("; `%(near)s` is there", near=near[0]) if near else "",
            )
