"""W7402"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..facts.module import ClassFacts, ImportEdge, ModuleFacts
from ..finding import Evidence, Finding
from ..language import tr
from ..project.imports import is_distributed_module
from ..project.project import Project, Ref
from ..project.registries import wrappers
from ..rule import Rule, Symptom
from ..tpstate.verdicts import place_of

if TYPE_CHECKING:
    from ..tpstate.analysis import Analysis


class WrapperImportInDistributed(Rule):
    """A distributed module imports the wrapper of its own family, which registers it."""

    code, symbol = "W7402", "wrapper-import-in-distributed"
    message = "`%(module)s` imports `%(wrapper)s`, the wrapper of its own family"
    advice = "Import the class that it needs from that class's own file, in place of `%(wrapper)s`."
    why = "The wrapper names, and often imports, every module of its family: one more import closes a circle."
    symptom = Symptom.TRAP
    runtime = "ImportError: cannot import name … from partially initialized module, as soon as the registry is not lazy"
    limits = "Wrappers of other families and imports under TYPE_CHECKING are right. An import inside a function counts."
    guide = "Principles: no circular imports"

    bad = """
    from torch import nn
    from example import OneFuser  # [wrapper-import-in-distributed]


    class IceDistributedFuser(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.rest = OneFuser(style="IceFuser", dim=dim)


    _FUSER_REGISTRY = {"IceDistributedFuser": IceDistributedFuser}


    class OneFuser(nn.Module):
        def __init__(self, style, **kwargs):
            super().__init__()
            self.fuser = _FUSER_REGISTRY[style](**kwargs)
    """
    good = """
    from torch import nn


    class IceDistributedFuser(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.rest = nn.Identity()


    _FUSER_REGISTRY = {"IceDistributedFuser": IceDistributedFuser}


    class OneFuser(nn.Module):
        def __init__(self, style, **kwargs):
            super().__init__()
            self.fuser = _FUSER_REGISTRY[style](**kwargs)
    """

    def check(self, analysis: Analysis) -> Iterator[Finding]:
        project = analysis.project
        by_folder: dict[object, list[ClassFacts]] = {}
        for wrapper in wrappers(project):
            by_folder.setdefault(wrapper.module.path.parent, []).append(wrapper)
        for module in project.modules:
            own = by_folder.get(module.path.parent)
            if not own or not is_distributed_module(project, module):
                continue
            for edge in module.edges:
                for wrapper in own:
                    if edge.kind not in ("module", "function") or wrapper.name not in edge.names:
                        continue
                    if _imported(project, module, edge, wrapper) is wrapper:
                        yield self.finding(
                            place_of(module, edge.node),
                            object=module.name,
                            evidence=(
                                Evidence(
                                    wrapper.module.display,
                                    wrapper.node.lineno,
                                    tr("`%(wrapper)s` is here", wrapper=wrapper.name),
                                ),
                            ),
                            module=module.name,
                            wrapper=wrapper.name,
                        )


def _imported(project: Project, module: ModuleFacts, edge: ImportEdge, wrapper: ClassFacts) -> Ref | None:
    """What an import of a wrapper's name gives, at the top of a file or inside a function."""
    if edge.kind == "module":
        return project.resolve(module, wrapper.name)
    source = project.find_module(module.absolute(edge.module), module)
    return project.resolve(source, wrapper.name) if isinstance(source, ModuleFacts) else None
