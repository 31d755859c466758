"""Which files a run looks at, and where imports start."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from onescience_check.checkers.files import disk
from onescience_check.checkers.files.discovery import FileSet
from onescience_check.checkers.files.prefilter import is_relevant
from onescience_check.checkers.settings import Settings

LAYER = "from megatron.core.tensor_parallel import ColumnParallelLinear\n"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(tree: Path, *names: str, text: str = LAYER) -> None:
    for name in names:
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)


def shown(found: FileSet, tree: Path) -> list[str]:
    return sorted(str(path.relative_to(tree)) for path in found.targets)


def test_ignored_files_are_left_out(tree: Path) -> None:
    write(
        tree, "a.py", "build/b.py", "pkg/c.py", "pkg/kept/d.py", "pkg/e.py", ".venv/f.py", "env/g.py", "h.py"
    )
    write(tree, "env/pyvenv.cfg", text="")
    write(tree, ".gitignore", text="/build/\ne.py\nh.*\n")
    write(tree, "pkg/.gitignore", text="c.py\n!e.py\n")
    found = FileSet.gather([tree], Settings(exclude=("kept/",), base=tree))
    assert shown(found, tree) == ["a.py", "env/g.py", "pkg/e.py"]


def test_ignore_files_above_count_up_to_the_repository(tree: Path) -> None:
    write(tree, ".gitignore", text="*.py\n")
    write(tree, "repo/.git/HEAD", "repo/.gitignore", text="skipped.py\n")
    write(tree, "repo/pkg/skipped.py", "repo/pkg/kept.py")
    assert shown(FileSet.gather([tree / "repo/pkg"], Settings()), tree) == ["repo/pkg/kept.py"]


def test_what_is_named_is_looked_at_although_ignored(tree: Path) -> None:
    write(tree, ".git/HEAD", text="")
    write(tree, ".gitignore", text="gen/\n")
    write(tree, "gen/a.py", "gen/b.py")
    assert shown(FileSet.gather([tree / "gen"], Settings()), tree) == ["gen/a.py", "gen/b.py"]
    assert shown(FileSet.gather([tree / "gen/a.py"], Settings()), tree) == ["gen/a.py"]


def test_a_part_of_a_project_is_understood_through_those_who_use_it(tree: Path) -> None:
    write(tree, "pyproject.toml", text="")
    write(tree, "src/pkg/models/model.py", "src/pkg/other.py")
    write(tree, "src/pkg/wrapper.py", text="_REGISTRY = {'model': ('pkg.models.model', 'Model')}\n")
    write(tree, "src/pkg/stage.py", text=LAYER + "def f():\n    from .wrapper import OneModel\n")
    write(tree, "examples/train.py", text=LAYER + "import numpy, os\nfrom pkg import (\n    other, stage)\n")
    write(tree, "src/pkg/plain.py", text="from pkg.models.model import Model\n")
    write(tree, "src/pkg/broken.py", text=LAYER + "from pkg import stage\n(\n")
    found = FileSet.gather([tree / "src/pkg/models"], Settings())
    assert shown(found, tree) == ["src/pkg/models/model.py"]
    assert [file.display for file in found.files] == [
        "examples/train.py",
        "src/pkg/models/model.py",
        "src/pkg/stage.py",
    ]
    assert not found.skipped
    assert found.load(tree / "src/pkg/wrapper.py") is not None
    assert found.load(tree / "src/pkg/plain.py").text.startswith("from pkg")
    assert found.source("src/pkg/plain.py") is found.load(tree / "src/pkg/plain.py")
    assert found.load(tree / "src/pkg/absent.py") is None
    assert found.exists(tree / "src/pkg")
    assert not found.exists(tree / "src/Pkg")


@pytest.mark.parametrize("home", [False, True])
def test_without_a_project_around_it_nothing_else_is_walked(
    tree: Path, home: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script in a home folder must not make a run read all of it."""
    if home:
        monkeypatch.setenv("HOME", str(tree))
        write(tree, ".git/HEAD", text="")
    write(tree, "model.py", "other/user.py", text=LAYER + "import model\n")
    found = FileSet.gather([tree / "model.py"], Settings())
    assert [file.display for file in found.files] == ["model.py"]
    assert found.load(tree / "other/user.py") is not None


def test_a_package_without_a_project_around_it_is_one(tree: Path) -> None:
    write(tree, "pkg/__init__.py", "pkg/sub/__init__.py", "outside.py", text="")
    write(tree, "pkg/sub/model.py")
    write(tree, "pkg/user.py", text=LAYER + "from .sub.model import Model\n")
    found = FileSet.gather([tree / "pkg/sub/model.py"], Settings())
    assert [file.display for file in found.files] == ["pkg/sub/model.py", "pkg/user.py"]
    assert found.roots == [tree]


def test_import_roots(tree: Path) -> None:
    write(tree, "setup.cfg", text="")
    write(tree, "src/space/fuser/block.py", text=LAYER + "from space.mlp import Mlp\n")
    write(tree, "src/space/mlp.py", text="")
    write(tree, "lib/pkg/__init__.py", "lib/pkg/sub/__init__.py", text="")
    write(tree, "lib/pkg/sub/layer.py")
    write(
        tree,
        "examples/one/train.py",
        "examples/two/train.py",
        text=LAYER + "try:\n    import model\nfinally: pass\n",
    )
    write(tree, "examples/one/model.py", "examples/two/model.py")
    found = FileSet.gather([tree], Settings())
    for root in ("", "src", "lib", "examples/one", "examples/two"):
        assert tree / root in found.roots
    assert tree / "lib/pkg" not in found.roots


@pytest.mark.parametrize(
    "text",
    [
        "from vllm.model_executor.layers.linear import RowParallelLinear",
        "_FUSER_REGISTRY = {}",
        "self.fuser = OneFuser(style='x')",
        "class PanguStage0(nn.Module): ...",
        "class PanguDistributedFuser(nn.Module): ...",
        "pretrain(a, b)",
    ],
)
def test_the_prefilter_keeps_what_matters(text: str) -> None:
    assert is_relevant(text.encode())


@pytest.mark.parametrize("text", ["import torch", "OneCycleLR = 1", "DistributedSampler(x)", "stage = 1"])
def test_the_prefilter_drops_the_rest(text: str) -> None:
    assert not is_relevant(text.encode())


def test_a_name_is_looked_for_in_files_that_were_thrown_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain.py").write_text("model.width = 3\nnaïve.depth=1\n", "utf-8")
    (tmp_path / "other.py").write_text("print(model.widths)\n")
    files = FileSet.gather([tmp_path], Settings())
    assert not files.files
    assert files.unread_has("width", re.compile(r"\.width\s*="))
    assert files.unread_has("depth", re.compile(r"\.depth\s*="))
    assert files.unread_has("naïve", re.compile(r"\bnaïve\b"))
    assert not files.unread_has("width", re.compile(r"\.width\("))
    monkeypatch.setattr(FileSet, "_bytes", None)
    assert not files.unread_has("height", re.compile(r"\.height\b"))  # nothing is read again for it


def test_a_file_that_was_needed_whole_stays_so_when_the_sieve_throws_it_out(tmp_path: Path) -> None:
    path = tmp_path / "plain.py"
    path.write_text("x = 1\n")
    with disk.watched() as reads:
        for _ in range(2):
            disk.read(path)
            disk.thrown_out(path)
        assert not reads.files[str(path)].is_whole
        disk.read(path)
        disk.read(path)
        disk.thrown_out(path)
    assert reads.files[str(path)].is_whole
