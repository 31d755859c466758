"""Arrows point one way: a module of one step imports nothing of a later step."""

from __future__ import annotations

import ast
import configparser
import re
from collections.abc import Iterator
from pathlib import Path

import networkx
import pytest

ROOT = Path(__file__).parent.parent
# Each step may import from those before it. `language`, `finding` and `rule` are what all share.
STEPS = (
    "language finding settings files facts project spmd tpstate twins rule rules plugins selection suppression "
    "workers engine cache repair history report diagnose draft frontends"
).split()
PARTS = ("checkers", "runtime", "reference_models")


def modules(part: str) -> list[Path]:
    return sorted((ROOT / part).rglob("*.py"))


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Line and absolute dotted name of every import, those for the type checker left out."""
    package = ("onescience_check", *path.relative_to(ROOT).with_suffix("").parts[:-1])
    todo: list[ast.AST] = [ast.parse(path.read_text("utf-8"))]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            todo += node.orelse
            continue
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            start = ".".join((*base, *([node.module] if node.module else [])))
            yield from ((node.lineno, f"{start}.{alias.name}") for alias in node.names)
        todo += ast.iter_child_nodes(node)


def step(dotted: str) -> int | None:
    """The step a module of the checkers belongs to."""
    parts = dotted.split(".")
    if parts[:2] != ["onescience_check", "checkers"] or len(parts) < 3:
        return None
    return STEPS.index(parts[2]) if parts[2] in STEPS else None


def own_step(path: Path) -> int | None:
    return step(".".join(("onescience_check", *path.relative_to(ROOT).with_suffix("").parts)))


@pytest.mark.parametrize("path", modules("checkers"), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_nothing_of_a_later_step(path: Path) -> None:
    own = own_step(path)
    if own is None:
        assert path == ROOT / "checkers/__init__.py", f"{path.name} belongs to no step"
        own = len(STEPS)
    late = [f"line {line}: {name}" for line, name in imports(path) if (step(name) or 0) > own]
    assert not late


@pytest.mark.parametrize("path", modules("checkers"), ids=lambda path: str(path.relative_to(ROOT)))
def test_the_checkers_need_neither_torch_nor_the_other_parts(path: Path) -> None:
    heavy = ("torch", "megatron", "numpy", "onescience_check.runtime", "onescience_check.reference_models")
    assert not [name for _, name in imports(path) if name.startswith(heavy)]


@pytest.mark.parametrize("part", ["runtime", "reference_models"])
def test_runtime_and_models_do_not_need_the_checkers(part: str) -> None:
    names = [name for path in modules(part) for _, name in imports(path)]
    assert names
    assert not [name for name in names if name.startswith("onescience_check.checkers")]


CIRCLES = {"tpstate": 24, "project": 5}
"""The two circles there are, and how many files each may have: the interpreter's, and the flow reader's. No others."""


def test_no_new_import_circles() -> None:
    names = {
        ".".join(("onescience_check", *path.relative_to(ROOT).with_suffix("").parts)): path
        for path in modules("checkers")
    }
    graph = networkx.DiGraph()
    for name, path in names.items():
        for _, dotted in imports(path):
            found = dotted if dotted in names else dotted.rpartition(".")[0]
            if found in names and found != name:
                graph.add_edge(name, found)
    circles = [sorted(part) for part in networkx.strongly_connected_components(graph) if len(part) > 1]
    for circle in circles:
        rooms = {name.split(".")[2] for name in circle}
        assert len(rooms) == 1 and len(circle) <= CIRCLES.get(*rooms, 0), circle
    assert len(circles) <= len(CIRCLES)


LONGEST = 300
"""Lines of a file: what is longer holds more than one thing."""


@pytest.mark.parametrize("part", PARTS)
def test_no_file_is_too_long(part: str) -> None:
    lines = {path: len(path.read_text("utf-8").splitlines()) for path in modules(part)}
    assert not {str(path.relative_to(ROOT)): count for path, count in lines.items() if count > LONGEST}


def test_ruff_refuses_functions_that_are_too_complex() -> None:
    text = (ROOT / "ruff.toml").read_text("utf-8")
    assert '"C90"' in text and "max-complexity = 20" in text


def test_the_steps_exist() -> None:
    for name in STEPS:
        assert (ROOT / "checkers" / name).is_dir() or (ROOT / "checkers" / f"{name}.py").is_file(), name


def setup() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "setup.cfg", "utf-8")
    return parser


def test_setup_cfg_lists_every_package() -> None:
    listed = set(setup()["options"]["packages"].split())
    found = {
        ".".join(("onescience_check", *path.parent.relative_to(ROOT).parts))
        for part in PARTS
        for path in modules(part)
        if path.name == "__init__.py"  # folders of scripts are no packages
    }
    assert listed == found | {"onescience_check"}  # the folder of `python -m onescience_check`


def test_setup_cfg_includes_every_data_file() -> None:
    parser = setup()
    patterns = dict(parser["options.package_data"]) if parser.has_section("options.package_data") else {}
    for part in PARTS:
        for path in (ROOT / part).rglob("*"):
            is_data = path.is_file() and path.suffix not in (".py", ".pyc")
            if is_data and (path.parent / "__init__.py").exists():
                package = ".".join(("onescience_check", *path.parent.relative_to(ROOT).parts))
                globs = patterns.get(package, patterns.get("*", "")).replace(",", " ").split()
                assert any(path.match(glob) for glob in globs), (
                    f"{path.relative_to(ROOT)} is not in package_data"
                )


READS = re.compile(
    r"\bopen\(|\.(read_text|read_bytes|glob|rglob|iterdir|is_file|is_dir|exists|stat|is_symlink)\(\)?"
    r"|os\.(path\.(exists|isfile|isdir|islink|realpath)|listdir|scandir|walk|stat)\("
)
THROUGH = re.compile(r"\b(disk|entry|files|self|_folders|folders)\.\w+\($")


@pytest.mark.parametrize(
    "path",
    [
        path
        for step in "files facts project spmd tpstate twins rules".split()
        for path in modules(f"checkers/{step}")
        if path.name != "disk.py"
    ],
    ids=lambda path: path.name,
)
def test_what_a_run_reads_goes_through_one_module(path: Path) -> None:
    """Else an answer of an earlier run could be used although something that it rests on has changed."""
    tree = ast.parse(path.read_text("utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    texts = [(node.lineno, ast.unparse(node.func) + "(") for node in calls]
    assert not [f"{line}: {text}" for line, text in texts if READS.search(text) and not THROUGH.search(text)]
