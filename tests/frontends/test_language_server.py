"""A whole session of an editor with the language server, over standard input and output."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the extra lsp is not installed")

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from onescience_check import check
from onescience_check.checkers.frontends.language_server import path_of, uri_of

EXAMPLE = Path(__file__).parents[2] / "docs/example"
FUSER = "src/onescience/modules/fuser/zephyrdistributedfuser.py"
LIMIT = 120


class Editor:
    """A client that keeps the last diagnostics of each file, and applies edits as an editor does."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.client = LanguageClient("editor", "1")
        self.found: dict[str, list[lsp.Diagnostic]] = {}
        self.said: list[str] = []
        self._news = asyncio.Event()
        self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda params: self._publish(params))
        self.client.feature(lsp.WINDOW_SHOW_MESSAGE)(lambda params: self.said.append(params.message))
        self._versions: dict[str, int] = {}

    def _publish(self, params: lsp.PublishDiagnosticsParams) -> None:
        self.found[params.uri] = list(params.diagnostics)
        self._news.set()

    async def start(self, **options: Any) -> lsp.InitializeResult:
        await self.client.start_io(sys.executable, "-m", "onescience_check", "server")
        made = await self.client.initialize_async(
            lsp.InitializeParams(
                capabilities=lsp.ClientCapabilities(),
                root_uri=self.root.as_uri(),
                initialization_options=options or None,
            )
        )
        self.client.initialized(lsp.InitializedParams())
        return made

    async def open(self, name: str, text: str | None = None) -> list[lsp.Diagnostic]:
        path = self.root / name
        text = path.read_text("utf-8") if text is None else text
        item = lsp.TextDocumentItem(path.as_uri(), "python", 1, text)
        return await self._after(
            path, lambda: self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        )

    async def change(self, name: str, text: str) -> None:
        uri = (self.root / name).as_uri()
        self._versions[uri] = self._versions.get(uri, 1) + 1
        self.client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(
                lsp.VersionedTextDocumentIdentifier(self._versions[uri], uri),
                [lsp.TextDocumentContentChangeWholeDocument(text)],
            )
        )

    async def save(self, name: str, text: str) -> list[lsp.Diagnostic]:
        path = self.root / name
        path.write_text(text, "utf-8")
        told = lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(path.as_uri()))
        return await self._after(path, lambda: self.client.text_document_did_save(told))

    async def _after(self, path: Path, act: Any) -> list[lsp.Diagnostic]:
        self.found.pop(path.as_uri(), None)
        act()
        while path.as_uri() not in self.found:
            self._news.clear()
            await asyncio.wait_for(self._news.wait(), LIMIT)
        return self.found[path.as_uri()]

    async def actions(self, name: str, at: lsp.Range) -> list[lsp.CodeAction]:
        asked = lsp.CodeActionParams(
            lsp.TextDocumentIdentifier((self.root / name).as_uri()), at, lsp.CodeActionContext([])
        )
        return list(await self.client.text_document_code_action_async(asked) or [])

    async def stop(self) -> None:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await asyncio.wait_for(self.client.stop(), LIMIT)


def applied(text: str, edits: list[lsp.TextEdit]) -> str:
    """The text with edits made, last one first, as the protocol counts: in UTF-16 units."""
    lines = text.split("\n")
    for edit in sorted(edits, key=lambda e: (e.range.start.line, e.range.start.character), reverse=True):
        start, end = edit.range.start, edit.range.end

        def cut(line: int, units: int) -> int:
            return len(lines[line].encode("utf-16-le")[: 2 * units].decode("utf-16-le"))

        before = lines[start.line][: cut(start.line, start.character)]
        after = lines[end.line][cut(end.line, end.character) :]
        lines[start.line : end.line + 1] = (before + edit.new_text + after).split("\n")
    return "\n".join(lines)


def session(talk: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(talk, 4 * LIMIT))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_a_session(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    wanted = [finding for finding in check(".").findings if finding.place.path == FUSER]

    async def talk() -> None:
        editor = Editor(tree)
        made = await editor.start()
        assert made.capabilities.code_action_provider
        found = await editor.open(FUSER)
        assert [(d.range.start.line + 1, d.code, d.source) for d in found] == [
            (f.place.line, f.code, "onescience-check") for f in wanted
        ]
        mismatch = next(d for d in found if d.code == "E7102")
        assert mismatch.severity is lsp.DiagnosticSeverity.Error
        steps = mismatch.related_information or []
        assert [step.message for step in steps] == [
            step.text for step in next(f for f in wanted if f.code == "E7102").evidence
        ]
        assert path_of(steps[0].location.uri).name == "zephyr_distributed.py"
        assert "Write `input_is_parallel=False`" in mismatch.message

        (action,) = [a for a in await editor.actions(FUSER, mismatch.range) if "input_is_parallel" in a.title]
        assert action.kind == lsp.CodeActionKind.QuickFix and action.is_preferred
        ((uri, edits),) = action.edit.changes.items()
        assert path_of(uri) == tree / FUSER
        text = applied((tree / FUSER).read_text(), list(edits))

        await editor.change(FUSER, text)
        assert not await editor.actions(FUSER, mismatch.range)  # it has not been checked yet as it is now
        left = await editor.save(FUSER, text)
        assert "E7102" not in {d.code for d in left} and len(left) == len(found) - 1
        editor.client.text_document_did_close(
            lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier((tree / FUSER).as_uri()))
        )
        await editor.stop()

    session(talk())


def test_a_text_that_is_not_saved_is_checked_as_it_is_and_in_chinese(tree: Path) -> None:
    text = (tree / FUSER).read_text()
    odd = text.replace("        y = y + ", '        "😀"; y = y + ').replace(
        "        out, _ =", '        "😀"; out, _ ='
    )

    async def talk() -> None:
        editor = Editor(tree)
        await editor.start(lang="zh")
        plain = await editor.open(FUSER, odd)
        mismatch = next(d for d in plain if d.code == "E7102")
        assert "整" in mismatch.message or "完整" in mismatch.message
        line = odd.split("\n")[mismatch.range.start.line]
        units = line.encode("utf-16-le")[
            2 * mismatch.range.start.character : 2 * mismatch.range.end.character
        ].decode("utf-16-le")
        assert units.startswith("self.mix(") and units.endswith(")")
        await editor.stop()

    session(talk())


def test_settings_that_cannot_be_used_are_said_once_and_the_session_goes_on(tree: Path) -> None:
    (tree / "setup.cfg").write_text("[onescience-check]\nprofil = guide\n")

    async def talk() -> None:
        editor = Editor(tree)
        await editor.start()
        assert await editor.open(FUSER) == []
        assert any("unknown key 'profil'" in text for text in editor.said)
        (tree / "setup.cfg").write_text("[onescience-check]\nprofile = guide\n")
        assert await editor.save(FUSER, (tree / FUSER).read_text())
        await editor.stop()

    session(talk())


def test_addresses_are_those_of_files(tmp_path: Path) -> None:
    path = tmp_path / "a b" / "é#.py"
    assert path_of(uri_of(str(path))) == path
    assert path_of("untitled:Untitled-1") is None and path_of("file:///a.txt") is None
