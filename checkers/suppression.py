"""`# pylint: disable=...` in checked files, with exactly Pylint's meaning: Pylint itself decides.

Its block rules (a comment on a line, in a block, at the head of a block, `disable-next`, `skip-file` ...) differ a
little between versions. So a bare linter that knows the messages in question reads the comments of a file and is then
asked about each line. Pylint is imported only when a file with findings has such a comment.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable

from .files.source import SourceFile, without_cookie
from .finding import Finding

PLUGIN = "onescience"
"""The name of all our checkers in Pylint: a comment may name them all by it."""
_PRAGMA = re.compile(r"#.*\bpylint:")


def split_suppressed(
    findings: Iterable[Finding], source: Callable[[str], SourceFile | None]
) -> tuple[list[Finding], list[Finding]]:
    """Findings that stand, and those that a comment in their file switches off; `source` gives a file by its path."""
    by_path: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_path[finding.place.path].append(finding)
    kept: list[Finding] = []
    suppressed: list[Finding] = []
    for path, found in by_path.items():
        file = source(path)
        if file is None or not _PRAGMA.search(file.text):
            kept += found
            continue
        is_enabled = _ask_pylint(file, {finding.symbol: finding.code for finding in found})
        for finding in found:
            (kept if is_enabled(finding.symbol, finding.place.line) else suppressed).append(finding)
    return kept, suppressed


def _ask_pylint(file: SourceFile, codes: dict[str, str]) -> Callable[[str, int], bool]:
    from astroid.manager import AstroidManager
    from astroid.rebuilder import TreeRebuilder
    from pylint.checkers import BaseChecker
    from pylint.lint import PyLinter
    from pylint.reporters import CollectingReporter
    from pylint.utils import ASTWalker, FileState

    # The tree is converted, not built: building would infer attributes, and read torch for that.
    module = TreeRebuilder(AstroidManager(), data=file.text).visit_module(
        file.tree, "", str(file.path), False
    )
    module.file_bytes = without_cookie(file.text)
    linter = PyLinter(reporter=CollectingReporter())
    for block in {code[1:3] for code in codes.values()}:  # Pylint wants the ids of a checker to begin alike
        texts = {code: ("%s", symbol, symbol) for symbol, code in codes.items() if code[1:3] == block}
        linter.register_checker(type("Block", (BaseChecker,), {"name": PLUGIN, "msgs": texts})(linter))
    linter.set_current_module(file.display, str(file.path))
    linter.file_state = FileState("", linter.msgs_store, module)
    if linter.check_astroid_module(module, ASTWalker(linter), [], []) is False:
        return lambda symbol, line: False
    return lambda symbol, line: linter.is_message_enabled(symbol, line)
