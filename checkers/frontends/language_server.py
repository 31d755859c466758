"""A language server: findings beside the code, their evidence as related information, their repairs as quick fixes.

A project is checked when one of its files is opened or saved: as a whole, as the command does, with the texts of open
files that are not saved. Shown are the findings of open files. One run at a time, in a thread of its own.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse
from urllib.request import url2pathname

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from ..files.disk import content, digest
from ..files.roots import Folders, project_root
from ..finding import Edit, Finding, Place
from ..language import local, of_locale, speaking
from ..settings import SettingsError
from .project import settings_of
from .streams import visible

_SEVERITIES = {
    "E": lsp.DiagnosticSeverity.Error,
    "W": lsp.DiagnosticSeverity.Warning,
    "R": lsp.DiagnosticSeverity.Information,
    "C": lsp.DiagnosticSeverity.Hint,
}


@dataclass
class _Checked:
    """What the last run said of a file, and the text that it speaks of, by name."""

    findings: list[Finding] = field(default_factory=list)
    content: str = ""


class Session:
    """What is open in the editor, and what was found there."""

    def __init__(self, server: Any) -> None:
        self.server = server
        self.language = of_locale()
        self.checked: dict[Path, _Checked] = {}
        self._one_at_a_time = ThreadPoolExecutor(1)
        self._waiting: set[Path] = set()

    def begin(self, params: lsp.InitializeParams) -> None:
        """The editor says which language its user reads: `{"lang": "zh"}`."""
        asked = (
            (params.initialization_options or {}) if isinstance(params.initialization_options, dict) else {}
        )
        if asked.get("lang") in ("en", "zh"):
            self.language = asked["lang"]

    async def look(self, uri: str) -> None:
        """Check the project around a file anew; several wishes for one project that waits are one."""
        path = path_of(uri)
        if path is None:
            return
        root = project_root(path, Folders()) or path
        if root in self._waiting:
            return
        self._waiting.add(root)
        texts = {path: document.source.encode() for path, document in self._open(root)}
        run = asyncio.get_running_loop().run_in_executor(self._one_at_a_time, self._check, root, texts)
        by_path, fault = await run
        if fault:
            self.server.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, visible(fault)))
        for path, document in self._open(root):
            if path in texts:
                self.checked[path] = _Checked(by_path.get(path, []), digest(texts[path]))
                with speaking(self.language):
                    self._publish(document.uri, list(self._diagnostics(path)))

    def forget(self, uri: str) -> None:
        """A file was closed."""
        path = path_of(uri)
        if path is not None:
            self.checked.pop(path, None)
        self._publish(uri, [])

    def _check(self, root: Path, texts: dict[Path, bytes]) -> tuple[dict[Path, list[Finding]], str]:
        """The findings of a project by file, and what went wrong, in the thread of the runs."""
        from ..cache.answer import answer
        from ..history.baseline import Baseline

        self._waiting.discard(root)
        edited = {path: data for path, data in texts.items() if content(path) != digest(data)}
        by_path: dict[Path, list[Finding]] = {}
        try:
            settings = settings_of(root)
            found = answer([root, *(path for path in edited if not path.exists())], settings, edited=edited)
            shown = Baseline.of(settings).split(found.result.findings, found.files)[0]
        except SettingsError as error:
            with speaking(self.language):
                return {}, f"onescience-check: {local(str(error))}"
        except Exception as error:
            return {}, " ".join(f"onescience-check: {type(error).__name__}: {error}".split())
        for finding in shown:
            by_path.setdefault(Path(os.path.abspath(finding.place.path)), []).append(finding)
        return by_path, ""

    def _open(self, root: Path) -> Iterator[tuple[Path, Any]]:
        for document in list(self.server.workspace.text_documents.values()):
            path = path_of(document.uri)
            if path is not None and (path == root or root in path.parents):
                yield path, document

    def _publish(self, uri: str, diagnostics: list[lsp.Diagnostic]) -> None:
        self.server.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri=uri, diagnostics=diagnostics)
        )

    def _diagnostics(self, path: Path) -> Iterator[lsp.Diagnostic]:
        for finding in self.checked[path].findings:
            yield lsp.Diagnostic(
                range=self._range(finding.place),
                severity=_SEVERITIES[finding.code[0]],
                code=finding.code,
                source="onescience-check",
                message="\n".join(filter(None, (local(finding.message), local(finding.advice)))),
                related_information=[
                    lsp.DiagnosticRelatedInformation(
                        lsp.Location(uri_of(step.path), self._line(step.path, step.line)), local(step.text)
                    )
                    for step in finding.evidence
                ],
                data={"symbol": finding.symbol},
            )

    def actions(self, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        """The repairs of the findings where the cursor is; none for a text that has changed since it was checked."""
        path = path_of(params.text_document.uri)
        checked = None if path is None else self.checked.get(path)
        if path is None or checked is None or not self._is_as_checked(path):
            return []
        with speaking(self.language):
            return [
                action
                for finding in checked.findings
                if _meets(self._range(finding.place), params.range)
                if (action := self._action(finding)) is not None
            ]

    def _action(self, finding: Finding) -> lsp.CodeAction | None:
        fix = finding.fix
        if fix is None or not all(
            self._is_as_checked(Path(os.path.abspath(e.place.path))) for e in fix.edits
        ):
            return None
        changes: dict[str, list[lsp.TextEdit]] = {}
        for edit in fix.edits:
            changes.setdefault(uri_of(edit.place.path), []).append(self._text_edit(edit))
        is_safe = fix.applicability == "safe"
        return lsp.CodeAction(
            title=local(finding.advice) or finding.symbol,
            kind=lsp.CodeActionKind.QuickFix,
            diagnostics=None,
            is_preferred=is_safe,
            edit=lsp.WorkspaceEdit(changes=changes),
        )

    def _text_edit(self, edit: Edit) -> lsp.TextEdit:
        return lsp.TextEdit(self._range(edit.place), edit.text)

    def _is_as_checked(self, path: Path) -> bool:
        """Whether a text is the one that was checked; of a file that is not open, the one on disk."""
        document = self._document(path)
        if document is None:
            return path.exists()
        checked = self.checked.get(path)
        return checked is not None and digest(document.source.encode()) == checked.content

    def _document(self, path: Path) -> Any:
        documents = self.server.workspace.text_documents.values()
        return next((document for document in documents if path_of(document.uri) == path), None)

    def _range(self, place: Place) -> lsp.Range:
        return lsp.Range(
            self._position(place.path, place.line, place.column),
            self._position(place.path, place.end_line, place.end_column),
        )

    def _line(self, path: str, line: int) -> lsp.Range:
        text = self._text(path, line)
        start = len(text) - len(text.lstrip())
        return lsp.Range(self._position(path, line, start), self._position(path, line, len(text)))

    def _position(self, path: str, line: int, column: int) -> lsp.Position:
        """Lines from 0, and columns in UTF-16 units, as the protocol has it."""
        before = self._text(path, line)[:column]
        return lsp.Position(line - 1, len(before.encode("utf-16-le")) // 2 + column - len(before))

    def _text(self, path: str, line: int) -> str:
        lines = self.server.workspace.get_text_document(uri_of(path)).lines
        return str(lines[line - 1]).rstrip("\r\n") if line <= len(lines) else ""


def _meets(found: lsp.Range, asked: lsp.Range) -> bool:
    return found.start.line <= asked.end.line and asked.start.line <= found.end.line


def uri_of(path: str) -> str:
    """The address of a file that findings name so."""
    return Path(os.path.abspath(path)).as_uri()


def path_of(uri: str) -> Path | None:
    """The Python file of an address; None for what is no file."""
    parts = urlparse(uri)
    if parts.scheme != "file" or not parts.path.endswith(".py"):
        return None
    return Path(os.path.abspath(url2pathname(unquote(parts.path) if os.name == "nt" else parts.path)))


def serve() -> None:
    """Answer an editor on standard input and output until it says goodbye."""
    make_server().start_io()


def make_server() -> Any:
    """The server, with what it answers to."""
    server: Any = LanguageServer("onescience-check", "1", lsp.TextDocumentSyncKind.Incremental)
    session = Session(server)

    def begin(params: lsp.InitializeParams) -> None:
        session.begin(params)

    async def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        await session.look(params.text_document.uri)

    async def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        await session.look(params.text_document.uri)

    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        session.forget(params.text_document.uri)

    def actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        return session.actions(params)

    handlers: Iterable[tuple[Any, ...]] = (
        (begin, lsp.INITIALIZE),
        (opened, lsp.TEXT_DOCUMENT_DID_OPEN),
        (saved, lsp.TEXT_DOCUMENT_DID_SAVE),
        (closed, lsp.TEXT_DOCUMENT_DID_CLOSE),
        (actions, lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix])),
    )
    for handler, *name in handlers:
        server.feature(*name)(handler)
    return server
