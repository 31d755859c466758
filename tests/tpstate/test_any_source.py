"""No Python source, valid or not, makes the engine crash or hang."""

from __future__ import annotations

import ast
import copy
import signal
import string
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from onescience_check.checkers.engine import run
from onescience_check.checkers.finding import Result
from onescience_check.checkers.rules import all_rules
from onescience_check.checkers.settings import Settings

FIXTURES = Path(__file__).parent.parent / "rules"
SECONDS = 20  # for one file of a hundred lines, which takes some 20 ms: nothing that ends is taken for a hang
quick = settings(deadline=None, max_examples=100, suppress_health_check=list(HealthCheck))


class Hangs(BaseException):
    """Not an Exception: the engine, which survives its own errors, must not swallow it."""


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Hangs

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tree")
    (path / "setup.cfg").write_text("")
    return path


def checked(folder: Path, text: bytes) -> Result:
    """One run over a file with these bytes, and one that holds modules it may have named."""
    (folder / "model.py").write_bytes(text)
    (folder / "one_attention.py").write_text(
        (FIXTURES / "input-is-parallel-mismatch/bad_registry/one_attention.py").read_text("utf-8")
    )
    with limited(SECONDS):
        result = run([folder], Settings(profile="guide", tp=(2, 4), base=folder))
    internal = [skip.reason for skip in result.skipped if "internal error" in skip.reason]
    assert not internal, f"{internal}\n{text.decode(errors='replace')}"
    return result


@cache
def sources() -> tuple[str, ...]:
    """Real module code: the fixtures and examples of all rules."""
    files = [path.read_text("utf-8") for path in sorted(FIXTURES.rglob("*.py"))]
    return (*files, *(rule.example(kind) for rule in all_rules() for kind in ("bad", "good")))


def places(tree: ast.AST, kind: type[ast.AST]) -> list[tuple[ast.AST, str, int | None]]:
    """Where nodes of a kind hang: parent, field, index in the field."""
    found: list[tuple[ast.AST, str, int | None]] = []
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if isinstance(value, kind) and not isinstance(getattr(value, "ctx", None), ast.Store | ast.Del):
                found.append((parent, name, None))
            elif isinstance(value, list):
                found += [
                    (parent, name, index)
                    for index, item in enumerate(value)
                    if isinstance(item, kind)
                    and not isinstance(getattr(item, "ctx", None), ast.Store | ast.Del)
                ]
    return found


def put(place: tuple[ast.AST, str, int | None], node: ast.AST) -> None:
    parent, name, index = place
    if index is None:
        setattr(parent, name, node)
    else:
        getattr(parent, name)[index] = node


def taken(place: tuple[ast.AST, str, int | None]) -> ast.AST:
    parent, name, index = place
    value = getattr(parent, name)
    return copy.deepcopy(value if index is None else value[index])


ODD = (
    "None",
    "...",
    "x",
    "self",
    "super()",
    "lambda *a, **k: a",
    "[*x]",
    "{**x}",
    "x[...]",
    "x[::2, None]",
    "10**99",
    "f'{x!r:>9}'",
    "(yield)",
    "[y for y in x for x in y if y]",
    "{k: v for k, v in x}",
    "x if x else x",
    "(x := x)",
    "not x",
    "-x",
    "x @ x @ x",
    "x < x < x",
    "x and x or x",
    "self.forward(x)",
    "type(self)(x)",
    "getattr(self, 'x')",
    "self.__init__(*x, **x)",
    "x.y.z(x)(x)",
    "print",
    "float('nan')",
    "1e999",
    "b''",
    "'%s' % x",
    "nn.Sequential(*x)",
    "nn.ModuleList(x)",
    "isinstance(x, (x, tuple))",
    "functools.partial(x, x)",
    "dict(x, **x)",
    "x // 0",
    "x % 0",
    "[][0]",
    "{}['x']",
    "''[0]",
    "x.view(-1, 0)",
    "x.chunk(0, -1)",
)


def changed(tree: ast.Module, other: ast.Module, step: tuple[int, int, int]) -> None:
    """One change: a subtree of the other file, an odd expression, or statements moved, dropped and wrapped."""
    how, where, what = step
    kind = ast.stmt if how % 5 in (2, 3, 4) else ast.expr
    targets, donors = places(tree, kind), places(other, kind)
    if not targets or not donors:
        return
    place = targets[where % len(targets)]
    if how % 5 == 0:
        put(place, taken(donors[what % len(donors)]))
    elif how % 5 == 1:
        put(place, ast.parse(ODD[what % len(ODD)], mode="eval").body)
    elif how % 5 == 2:
        put(place, taken(donors[what % len(donors)]))
    elif how % 5 == 3 and isinstance(parent_list := getattr(place[0], place[1]), list):
        parent_list.insert(what % (len(parent_list) + 1), taken(targets[what % len(targets)]))
    else:
        wrap = (
            "while x: pass",
            "for x in x: pass",
            "if x: pass",
            "with x as x: pass",
            "try: pass\nfinally: pass",
            "def x(): pass",
        )
        block = ast.parse(wrap[what % len(wrap)]).body[0]
        block.body = [taken(place)]  # type: ignore[attr-defined]
        put(place, block)


numbers = st.integers(0, 9999)


@quick
@given(
    first=numbers,
    second=numbers,
    steps=st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=12),
)
def test_mutations_of_real_modules(
    folder: Path, first: int, second: int, steps: list[tuple[int, int, int]]
) -> None:
    tree, other = (ast.parse(sources()[number % len(sources())]) for number in (first, second))
    for step in steps:
        changed(tree, other, step)
    try:
        text = ast.unparse(ast.fix_missing_locations(tree))
    except (ValueError, TypeError, AttributeError, RecursionError):
        assume(False)
    checked(folder, text.encode())


PIECES = (
    "class M(nn.Module):\n",
    "    def __init__(self):\n",
    "        self.fc = ColumnParallelLinear(1, 2)\n",
    "\t",
    "    ",
    "\n",
    "(",
    ")",
    "[",
    "]",
    "#",
    '"""',
    "\\",
    ":",
    "x",
    "=",
    "\x00",
    "\r\n",
    "é",
    "return ",
    "for ",
    "in ",
    "async ",
    "await ",
    "lambda ",
    "yield ",
)


@quick
@given(st.lists(st.sampled_from(PIECES) | st.text(string.printable, max_size=5), max_size=40))
def test_texts_that_are_hardly_python(folder: Path, pieces: list[str]) -> None:
    checked(
        folder,
        "".join(["from megatron.core.tensor_parallel import ColumnParallelLinear\n", *pieces]).encode(),
    )


@quick
@given(st.binary(max_size=200))
def test_any_bytes(folder: Path, data: bytes) -> None:
    checked(folder, b"# ColumnParallelLinear\n" + data)
