"""One run of the engine per project and process, kept while the files stay as they are."""

from __future__ import annotations

from argparse import Namespace
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from astroid import nodes

from ..cache.answer import answer
from ..files.disk import digest
from ..files.prefilter import is_relevant
from ..files.roots import Folders, project_root
from ..finding import Finding
from ..history.baseline import Baseline
from ..language import tr
from ..settings import Settings, SettingsError, sizes
from .project import settings_of


class AnalysisError(Exception):
    """A project that could not be checked; the text says why."""


@dataclass
class _Project:
    """What was analysed and what came of it. `edited` holds texts that are not those on disk (or were not yet)."""

    root: Path
    named: list[Path] = field(default_factory=list)
    edited: dict[Path, bytes] = field(default_factory=dict)
    contents: Mapping[Path, str] = field(default_factory=dict)
    targets: set[Path] = field(default_factory=set)
    findings: dict[Path, list[Finding]] = field(default_factory=dict)
    broken: dict[Path, str] = field(default_factory=dict)

    def analyse(self, settings: Settings) -> None:
        found = answer([self.root, *self.named], settings, edited=self.edited)
        result, self.contents, self.targets = found.result, found.contents, found.files.targets
        shown = Baseline.of(settings).split(result.findings, found.files)[0]
        by_path: dict[Path, list[Finding]] = defaultdict(list)
        for finding in shown + [finding for finding in result.suppressed if finding.decided]:
            by_path[Path(finding.place.path).absolute()].append(finding)
        self.findings = dict(by_path)
        self.broken = {Path(skip.path).absolute(): skip.reason for skip in result.skipped if skip.is_fault}

    def knows(self, path: Path, data: bytes) -> bool:
        """Whether the last run saw the file as it is now."""
        if path not in self.contents:
            return path in self.targets and not is_relevant(data)
        return self.contents[path] == digest(data)


class Projects:
    """Findings of the modules that Pylint hands over; a project is analysed when its first module comes."""

    def __init__(self) -> None:
        self._projects: dict[Path, _Project] = {}
        self._failed: set[Path] = set()
        self._folders = Folders()

    def findings(self, module: nodes.Module, options: Namespace) -> list[Finding]:
        """The findings of a module.

        Raises:
            AnalysisError: said once for a project whose settings cannot be used or whose analysis failed.
        """
        if not module.file or module.file == "<?>":
            return []
        path = Path(module.file).absolute()
        root = project_root(path, self._folders) or path  # without a project around it, a file stands alone
        if root in self._failed:
            return []
        try:
            project = self._up_to_date(root, path, module, options)
        except SettingsError as error:
            self._failed.add(root)
            raise AnalysisError(str(error)) from None
        except Exception as error:
            self._failed.add(root)
            text = " ".join(f"{type(error).__name__}: {error}".split())
            raise AnalysisError(
                tr(
                    "internal error: %(text)s; onescience-check %(root)s says how to report it",
                    text=text,
                    root=root,
                )
            ) from None
        if path in project.broken:
            raise AnalysisError(project.broken.pop(path))
        return project.findings.get(path, [])

    def _up_to_date(self, root: Path, path: Path, module: nodes.Module, options: Namespace) -> _Project:
        data = _bytes(module)
        project = self._projects.get(root)
        if project is not None and project.knows(path, data):
            return project
        settings = _settings(root, options)
        if project is None:
            project = self._projects[root] = _Project(root)
            project.analyse(settings)
        if path not in project.targets:
            project.named.append(path)  # Pylint was told to look at it although it is ignored here
            project.analyse(settings)
        if not project.knows(path, data):
            project.edited[path] = data
            project.analyse(settings)
        return project


def _bytes(module: nodes.Module) -> bytes:
    with module.stream() as stream:
        data: bytes = stream.read()
    return data


def _settings(root: Path, options: Namespace) -> Settings:
    given: dict[str, Any] = {}
    if options.onescience_tp:
        try:
            given["tp"] = sizes(list(options.onescience_tp))
        except (TypeError, ValueError):
            raise SettingsError("onescience-tp: write sizes such as 1,2,4,8") from None
    if options.onescience_profile:
        given["profile"] = options.onescience_profile
    return replace(settings_of(root), **given)
