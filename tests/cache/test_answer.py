"""An answer of an earlier run is what a new run would say, and is used where nothing has changed."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from onescience_check.checkers.cache import answer as asking
from onescience_check.checkers.cache import store, tool, trace
from onescience_check.checkers.cache.answer import Answer, answer
from onescience_check.checkers.cache.packed import packed, unpacked
from onescience_check.checkers.facts import module
from onescience_check.checkers.files import discovery
from onescience_check.checkers.frontends.project import settings_of
from onescience_check.checkers.frontends.python import check
from onescience_check.checkers.settings import load_settings

ROOT = Path(__file__).parents[2]
SCRIPT = "src/onescience/models/zephyr/zephyr_distributed.py"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small project with findings, in a folder of its own, and an empty cache."""
    made = tmp_path / "tree"
    shutil.copytree(ROOT / "docs/example", made)
    (made / "plain.py").write_text("x = 1\n")
    (made / ".git").mkdir()
    monkeypatch.setenv(store.VARIABLE, str(tmp_path / "kept"))
    monkeypatch.setattr(trace, "_SETTLED", 0)  # the files are new, and no clock is as coarse as that here
    monkeypatch.chdir(made)
    return made


def ask(tree: Path, **options) -> Answer:
    return answer([tree], load_settings(tree), **options)


def said(found: Answer) -> object:
    """All that can be seen of an answer."""
    files = found.files
    return packed([found.result, sorted(map(str, files.targets)), files.seen, files.skipped, files.unusable])


def kept_file(tree: Path) -> Path:
    return next(path for path in (tree.parent / "kept").glob("*.answer") if not path.name.startswith("tool-"))


def is_kept(tree: Path, monkeypatch: pytest.MonkeyPatch, **options) -> bool:
    """Whether an answer comes without a run."""
    ran = []

    def fresh(*given: object) -> Answer:
        ran.append(given)
        return real(*given)

    real = asking._fresh
    with monkeypatch.context() as patch:
        patch.setattr(asking, "_fresh", fresh)
        ask(tree, **options)
    return not ran


def test_the_second_answer_is_the_first_one(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = ask(tree)
    assert first.result.findings
    assert is_kept(tree, monkeypatch)
    second = ask(tree)
    assert said(second) == said(first)
    assert second.contents == first.contents
    shown = first.result.findings[0].place.path
    assert second.files.source(shown).text == first.files.source(shown).text
    assert second.files.source("plain.py") is first.files.source("plain.py") is None


def test_the_text_of_a_kept_answer_is_the_same_in_both_languages(tree: Path) -> None:
    command = [sys.executable, "-m", "onescience_check"]
    for options in (
        ["--lang", "zh"],
        ["--lang", "en", "--statistics", "--strict"],
        ["--format", "json"],
        ["--format", "sarif"],
    ):
        runs = [
            subprocess.run([*command, *more, *options], capture_output=True, text=True)
            for more in ([], [], ["--no-cache"])
        ]
        assert runs[0].stdout == runs[1].stdout == runs[2].stdout
        assert {run.returncode for run in runs} == {1}


def edit_relevant(tree: Path, dice: random.Random) -> None:
    path = dice.choice(sorted(tree.rglob("zephyr*.py")))
    lines = path.read_text().split("\n")
    lines.insert(dice.randrange(len(lines)), "# a comment" if dice.random() < 0.5 else "")
    path.write_text("\n".join(lines))


def edit_meaning(tree: Path, dice: random.Random) -> None:
    path = dice.choice(sorted(tree.rglob("zephyr*.py")))
    text = path.read_text()
    path.write_text(text.replace("input_is_parallel=True", "input_is_parallel=False", 1))


def edit_plain(tree: Path, dice: random.Random) -> None:
    (tree / "plain.py").write_text(
        dice.choice(
            ["x = 2\n", "x = 1\n", "é = 1\n", "class ColumnParallelLinear: pass\n", "model.embed = 3\n"]
        )
    )


def edit_undecodable(tree: Path, dice: random.Random) -> None:
    (tree / "plain.py").write_bytes(b"x = '\xff'\n")


def add_file(tree: Path, dice: random.Random) -> None:
    (tree / f"new{dice.randrange(3)}.py").write_text(
        dice.choice(["", "import onescience\n", "def broken(:\n"])
    )


def remove_file(tree: Path, dice: random.Random) -> None:
    path = dice.choice(sorted(tree.rglob("*.py")))
    path.unlink()


def rename_file(tree: Path, dice: random.Random) -> None:
    path = dice.choice(sorted(tree.rglob("*.py")))
    path.rename(path.with_name(f"{path.stem}_x.py"))


def add_folder(tree: Path, dice: random.Random) -> None:
    shutil.copytree(tree / "src", tree / f"copy{dice.randrange(2)}", dirs_exist_ok=True)


def ignore(tree: Path, dice: random.Random) -> None:
    (tree / ".gitignore").write_text(dice.choice(["*zephyr_distributed*\n", "", "copy0/\n"]))


def link(tree: Path, dice: random.Random) -> None:
    path = tree / "linked.py"
    path.unlink(missing_ok=True)
    path.symlink_to(dice.choice([tree / "plain.py", tree / "nowhere.py", tree.parent / "outside.py", path]))


def edit_outside(tree: Path, dice: random.Random) -> None:
    (tree.parent / "outside.py").write_text(dice.choice(["x = 1\n", "class RowParallelLinear: pass\n"]))


def touch(tree: Path, dice: random.Random) -> None:
    path = dice.choice(sorted(tree.rglob("*.py")))
    if path.exists():
        os.utime(path, (dice.randrange(10**9),) * 2)


def settings(tree: Path, dice: random.Random) -> None:
    (tree / "setup.cfg").write_text(
        dice.choice(["", "[onescience-check]\ntp = 1, 2, 4\n", "[onescience-check]\nexclude = copy0\n"])
    )


def edit_back(tree: Path, dice: random.Random) -> None:
    """A text that stood there at first."""
    path = dice.choice(sorted((ROOT / "docs/example").rglob("*.py")))
    shutil.copy(path, tree / path.relative_to(ROOT / "docs/example"))


def mark_project(tree: Path, dice: random.Random) -> None:
    (tree / "src/setup.py").write_text("")


def same_size(tree: Path, dice: random.Random) -> None:
    """The size and the time of change stay, the content does not."""
    path = tree / SCRIPT
    if not path.exists():
        return
    about = path.stat()
    path.write_text(path.read_text().replace("config=config", "config=other_"))
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))


EDITS: list[Callable[[Path, random.Random], None]] = [
    edit_relevant,
    edit_meaning,
    edit_plain,
    edit_undecodable,
    add_file,
    remove_file,
    rename_file,
    add_folder,
    ignore,
    link,
    edit_outside,
    touch,
    mark_project,
    same_size,
    settings,
    edit_back,
]


def open_texts(tree: Path, dice: random.Random) -> dict[Path, bytes]:
    """What stands in an editor, and not or not yet on disk."""
    path = dice.choice(sorted(tree.rglob("*.py")))
    text = path.read_text(errors="replace") if path.exists() else ""
    return dice.choice([{}, {path: f"{text}\nnew_name = 1\n".encode()}, {path: b"model.embed = 3\n"}])


def interrupted(tree: Path, monkeypatch: pytest.MonkeyPatch, dice: random.Random) -> None:
    """A run that ends in the middle, or while it writes down what it has found."""

    def stops(*given: object) -> object:
        raise KeyboardInterrupt

    (tree / "plain.py").write_text(f"x = {dice.random()}\nclass RowParallelLinear: pass\n")
    with monkeypatch.context() as patch:
        patch.setattr(*dice.choice([(discovery.FileSet, "gather", stops), (store.os, "replace", stops)]))
        with pytest.raises(KeyboardInterrupt):
            ask(tree)


@pytest.mark.parametrize("seed", range(3))
def test_after_random_edits_an_answer_is_that_of_a_new_run(
    tree: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    dice = random.Random(seed)
    ask(tree)
    for _ in range(12):
        change = dice.choice(EDITS)
        change(tree, dice)
        if dice.random() < 0.15:
            interrupted(tree, monkeypatch, dice)
        if dice.random() < 0.15:
            version = f"version {dice.randrange(2)}"
            monkeypatch.setattr(asking, "tool_name", lambda version=version: version)
        settings = replace(load_settings(tree), jobs=dice.choice([1, 2]))
        edited = open_texts(tree, dice) if dice.random() < 0.3 else {}
        fresh = answer([tree], replace(settings, jobs=dice.choice([1, 2])), edited=edited, is_cached=False)
        for _ in range(2):  # one that may have to run, and one that need not
            assert said(answer([tree], settings, edited=edited)) == said(fresh), change.__name__


@pytest.mark.parametrize("jobs", [1, 2])
def test_after_an_edit_only_what_has_changed_is_searched(
    tree: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    settings = replace(load_settings(tree), jobs=jobs)
    (tree / "more.py").write_text("model.embed = 3\n")
    answer([tree], settings)
    text = f"{(tree / SCRIPT).read_text()}\n# a comment\n"
    (tree / SCRIPT).write_text(text)
    searched, sieved, words = [], [], []

    def noting(real: Callable[..., object], found: list[object]) -> Callable[..., object]:
        return lambda *given: (found.append(given[-1] if found is words else given), real(*given))[1]

    with monkeypatch.context() as patch:
        patch.setattr(module, "holds", noting(module.holds, searched))
        patch.setattr(discovery, "is_relevant", noting(discovery.is_relevant, sieved))
        patch.setattr(discovery.FileSet, "_words", noting(discovery.FileSet._words, words))
        changed = answer([tree], settings)
    assert {given[1] for given in searched} == {text}
    assert not {b"x = 1\n", b"model.embed = 3\n"} & {given[0] for given in sieved}
    assert tree / "plain.py" not in words
    assert said(changed) == said(answer([tree], settings, is_cached=False))


def test_a_text_of_an_editor_is_not_what_is_on_disk(tree: Path) -> None:
    settings = load_settings(tree)
    for text in ("x = 1\n", (tree / SCRIPT).read_text().replace("ColumnParallelLinear", "Column")):
        edited = {tree / SCRIPT: text.encode(), tree / "plain.py": b"class RowParallelLinear: pass\n"}
        answer([tree], settings)
        fresh = said(answer([tree], settings, edited=edited, is_cached=False))
        assert said(answer([tree], settings, edited=edited)) == fresh
        (tree / "other.py").write_text(f"# {len(text)}\nimport onescience\n")
        fresh = said(answer([tree], settings, edited=edited, is_cached=False))
        assert said(answer([tree], settings, edited=edited)) == fresh


def test_what_an_editor_has_checked_is_known_elsewhere(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tree / SCRIPT
    path.write_text(f"{path.read_text()}\nNUMBER = 1\n")
    answer([tree], settings_of(tree), edited={})  # as the language server asks once a file is saved
    runs = []
    monkeypatch.setattr(asking, "_fresh", lambda *given: runs.append(given))
    assert check().findings
    assert not runs


def test_a_file_that_has_nothing_to_do_with_it_may_change(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(tree)
    (tree / "plain.py").write_text("y = 'another text'\n")
    assert is_kept(tree, monkeypatch)
    (tree / "plain.py").write_text("class RowParallelLinear: pass\n")
    assert not is_kept(tree, monkeypatch)


def test_the_states_that_a_tree_had_last_are_remembered(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, text = ask(tree), (tree / SCRIPT).read_text()
    for number in range(asking.STATES):
        (tree / SCRIPT).write_text(f"{text}\nNUMBER_{number} = {number}\n")
        is_last = number == asking.STATES - 1
        assert not is_kept(tree, monkeypatch)
        (tree / SCRIPT).write_text(text)
        assert is_kept(tree, monkeypatch) is not is_last
    assert said(ask(tree)) == said(first)
    assert len(list((tree.parent / "kept").glob("*.answer"))) == asking.STATES + 1


def test_new_times_of_the_same_files_are_kept(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(tree)
    for path in tree.rglob("*.py"):
        os.utime(path, (1, 1))
    assert is_kept(tree, monkeypatch)
    read = []
    monkeypatch.setattr(trace.disk, "content", lambda path: read.append(path) or "errno 2")
    assert is_kept(tree, monkeypatch)
    assert not [path for path in read if os.path.exists(path)]  # none a second time


def test_a_file_that_was_changed_a_moment_ago_is_read_again(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace, "_SETTLED", 10**15)
    ask(tree)
    found = json.loads(zlib.decompress(kept_file(tree).read_bytes()))
    assert all(note[1] == -1 for note in found["reads"]["files"])
    assert is_kept(tree, monkeypatch)


def test_settings_edits_and_paths_are_questions_of_their_own(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(tree)
    edited = {tree / SCRIPT: b"x = 1\n"}
    assert not is_kept(tree, monkeypatch, edited=edited)
    assert is_kept(tree, monkeypatch, edited=edited)
    (tree / "setup.cfg").write_text("[onescience-check]\nprofile = guide\ntp = 1, 2, 4, 8\n")
    assert not is_kept(tree, monkeypatch)
    some = answer([tree / "src"], load_settings(tree)).files.targets
    assert some < ask(tree).files.targets


def test_an_upgrade_forgets(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(tree)
    monkeypatch.setattr(asking, "tool_name", lambda: "another version")
    assert not is_kept(tree, monkeypatch)


def test_the_same_program_installed_again_is_the_same_and_an_edited_one_is_not(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = tool.tool_name()
    package = tree.parent / "package/checkers"
    shutil.copytree(ROOT / "checkers", package, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(tool, "__file__", str(package / "cache/tool.py"))
    for _ in range(2):
        assert tool.tool_name() == real
    with (package / "locale/zh/command.po").open("a") as file:
        file.write("\n")
    assert tool.tool_name() != real


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"no zlib",
        zlib.compress(b"no json"),
        zlib.compress(b"[]"),
        zlib.compress(b'{"form": 2}'),
        zlib.compress(b'{"form": 1, "reads": {}, "kept": {}}'),
        zlib.compress(b'{"form": 2, "reads": {"files": [[]]}, "kept": {}}'),
        zlib.compress(b"[" * 100_000),
    ],
)
def test_what_is_broken_is_no_answer(tree: Path, monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    first = ask(tree)
    kept = kept_file(tree)
    kept.write_bytes(text)
    assert not is_kept(tree, monkeypatch)
    kept.write_bytes(text)
    assert said(ask(tree)) == said(first)


def test_a_cut_answer_is_none(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask(tree)
    kept = kept_file(tree)
    kept.write_bytes(kept.read_bytes()[:-100])
    assert not is_kept(tree, monkeypatch)


def test_a_run_that_fails_is_not_kept(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from onescience_check.checkers.rules import all_rules

    def fails(_: object) -> object:
        raise ValueError("on purpose")

    with monkeypatch.context() as patch:
        patch.setattr(all_rules()[0], "check", fails, raising=False)
        assert any("internal error" in skip.reason for skip in ask(tree).result.skipped)
    assert not is_kept(tree, monkeypatch)


@pytest.mark.parametrize("place", ["file", "read-only", "empty"])
def test_without_a_folder_nothing_is_kept_and_nothing_said(
    tree: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    kept = tree.parent / "other"
    if place == "file":
        kept.write_text("")
    elif place == "read-only":
        kept.mkdir(mode=0o500)
        if os.access(kept, os.W_OK):
            pytest.skip("this user may write everywhere")
    monkeypatch.setenv(store.VARIABLE, "" if place == "empty" else str(kept))
    ask(tree)
    assert not is_kept(tree, monkeypatch)


def test_many_runs_at_once_and_a_killed_one(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-m", "onescience_check", "--format", "json"]
    killed = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(3)]
    killed.kill()
    texts = {run.communicate()[0] for run in runs}
    killed.wait()
    assert len(texts) == 1
    assert len(json.loads(texts.pop())["findings"]) == len(ask(tree).result.findings)
    assert not list((tree.parent / "kept").glob("unfinished-*"))


def test_the_folder_does_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(store.VARIABLE, str(tmp_path))
    monkeypatch.setattr(store, "LIMIT", 10_000)
    for number in range(20):
        store.save(f"old{number}", random.Random(number).randbytes(1_500).hex())
        os.utime(tmp_path / f"old{number}.answer", (number, number))
    abandoned = tmp_path / "unfinished-x"
    abandoned.write_text("half")
    os.utime(abandoned, (1, 1))
    (tmp_path / "unfinished-y").write_text("half")
    store.save("new", "text")
    left = sorted(path.name for path in tmp_path.glob("*.answer"))
    assert "new.answer" in left and "old19.answer" in left and "old0.answer" not in left
    assert sum(path.stat().st_size for path in tmp_path.glob("*.answer")) <= 10_000
    assert not abandoned.exists() and (tmp_path / "unfinished-y").exists()
    assert (tmp_path / ".gitignore").read_text() == "*\n"
    (tmp_path / "mine.txt").write_text("")
    assert store.clear() == len(left)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".gitignore", "CACHEDIR.TAG", "mine.txt"]


def test_only_the_classes_of_results_are_read() -> None:
    for evil in ({"": "Path", "v": ["/"]}, {"": "eval", "v": ["1"]}, {"v": []}, {"": "Place", "v": [1]}):
        with pytest.raises((KeyError, TypeError)):
            unpacked(evil)


WATCH = """
import os, sys
from pathlib import Path
opened = set()
tree = sys.argv[1]
def hook(event, given):
    if event in ("open", "os.scandir", "os.listdir") and given and isinstance(given[0], (str, bytes, Path)):
        path = os.path.abspath(os.fspath(given[0]))
        if path.startswith(tree):
            opened.add(path)
from onescience_check.checkers.settings import load_settings
from onescience_check.checkers.engine import run
from onescience_check.checkers.files.disk import watched
settings = load_settings(Path(tree))
with watched() as reads:
    sys.addaudithook(hook)
    run([Path(tree)], settings)
    print(*sorted(opened - set(reads.files) - set(reads.folders)), sep="\\n")
"""


@pytest.mark.parametrize(
    "name",
    ["docs/example", "reference_models", "tests/rules/stage-shapes-batch", "tests/rules/yaml-key-missing"],
)
def test_a_run_opens_nothing_that_is_not_noted(name: str) -> None:
    found = subprocess.run(
        [sys.executable, "-c", WATCH, str(ROOT / name)], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == ""
