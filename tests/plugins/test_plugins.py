"""A project's own rules: named by its settings, written against an interface of their own, refused with one line."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from onescience_check.checkers.cache import answer as asking
from onescience_check.checkers.cache import store
from onescience_check.checkers.frontends import cli
from onescience_check.checkers.frontends.python import check
from onescience_check.checkers.plugins import interface
from onescience_check.checkers.plugins.loading import use_plugins
from onescience_check.checkers.rules import all_rules, own_rules, use_rules
from onescience_check.checkers.settings import Settings, SettingsError

EXAMPLE = Path(__file__).parents[2] / "docs/own-rules"
MARK = re.compile(r"# \[([\w-]+)\]")
HEAD = """
from onescience_check.plugin import ProjectRule

INTERFACE = 1


class Mine(ProjectRule):
    code, symbol, message = "W9001", "my-rule", "no"

    def look(self, tree):
"""


@pytest.fixture(autouse=True)
def no_rules_are_left_behind():
    yield
    use_rules(())


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "onescience_check", *arguments], capture_output=True, text=True
    )


def test_the_example_finds_what_is_marked_in_it_and_nothing_else(project: Path) -> None:
    wanted = {
        (path.relative_to(project).as_posix(), number, symbol)
        for path in project.rglob("*.py")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        for symbol in MARK.findall(line)
    }
    found = check(".", select=["R9", "E9", "W9"]).findings
    assert len(wanted) == 3
    assert {(f.place.path, f.place.line, f.symbol) for f in found} == wanted
    head = next(finding for finding in found if finding.symbol == "head-given-split")
    assert [step.text for step in head.evidence] == ["`up` is column-parallel: its output is split"]


def test_the_page_shows_the_example_as_it_is() -> None:
    page = EXAMPLE.with_suffix(".md").read_text("utf-8")
    shown = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    text = (EXAMPLE / "tools/our_rules.py").read_text("utf-8")
    assert any("ProjectRule" in part for part in shown)
    for part in shown:
        if "ProjectRule" in part:
            assert part in text
    for name in interface.__all__:
        assert f"`{name}" in page, name


def test_every_command_knows_the_rules(project: Path) -> None:
    plain = run("--no-plugins", "--select", "R9")
    assert plain.returncode == 2 and "no rule is called 'R9'" in plain.stderr
    assert "W9003  stage-without-base" in run("rules").stdout
    said = run("explain", "R9001").stdout
    assert "Our activations are too large" in said and "this project: tools/our_rules.py" in said
    assert "Wrong" not in said
    for form in ("json", "sarif", "html", "markdown", "junit", "gitlab", "github"):
        shown = run("--format", form, "--select", "R9")
        assert shown.returncode == 0 and "column-gathered" in shown.stdout, (form, shown.stderr)
    text = run("--jobs", "2", "--select", "E9").stdout
    assert "E9002 head-given-split" in text and "`up` is column-parallel" in text
    assert "plugins = tools/our_rules.py" in run("--show-settings").stdout


def test_the_rules_of_one_project_are_not_those_of_the_next(project: Path, tmp_path: Path) -> None:
    assert check(".", select=["R9"]).findings
    assert all_rules() != own_rules()
    other = tmp_path / "other"
    other.mkdir()
    (other / "setup.cfg").write_text("[onescience-check]\n")
    check(other)
    assert all_rules() == own_rules()


def test_a_changed_rule_gives_a_new_answer(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(store.VARIABLE, str(project / "kept"))
    first = check("src", select=["R9"]).findings
    rules = project / "tools/our_rules.py"
    rules.write_text(rules.read_text().replace("gathers is True", "gathers is False"))
    second = check("src", select=["R9"]).findings
    assert len(first) == 1 and len(second) == 2
    with monkeypatch.context() as patch:
        patch.setattr(asking, "_fresh", None)
        assert check("src", select=["R9"]).findings == second


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "no such file or directory"),
        ("def (", "line 1: SyntaxError: invalid syntax"),
        ("x = 1\nraise ValueError('no')\n", "line 2: ValueError: no"),
        ("import sys\nsys.exit(0)\n", "line 2: SystemExit: 0"),
        ("x = 1\n", "write `INTERFACE = 1`"),
        ("INTERFACE = 7\n", "it was written for form 7 of `onescience_check.plugin`, and this is 1"),
        ("INTERFACE = 1\n", "it holds no rule"),
        (
            HEAD.replace("W9001", "W7001") + "        yield\n",
            "Mine.code is 'W7001': write a letter of E, W, R, C",
        ),
        (HEAD.replace("my-rule", "My Rule") + "        yield\n", "Mine.symbol is 'My Rule'"),
        (HEAD.replace('"no"', "1") + "        yield\n", "Mine has no message"),
        (HEAD.replace("look", "see") + "        yield\n", "Mine has no method `look`"),
        (HEAD.replace("my-rule", "pair-used") + "        yield\n", None),
        (
            HEAD + "        yield\n" + HEAD.split("1\n", 1)[1].replace("Mine", "Again") + "        yield\n",
            "there is a rule",
        ),
        (HEAD + "        yield\n    def __init__(self):\n        self.x = no\n", "NameError"),
        ("\0", "not UTF-8"),
    ],
)
def test_a_rule_that_cannot_be_used_is_said_in_one_line(
    tmp_path: Path, text: str | None, said: str | None
) -> None:
    if text is not None:
        (tmp_path / "own.py").write_text(text)
    settings = Settings(plugins=("own.py",), base=tmp_path)
    if said is None:
        use_plugins(settings)
        return
    with pytest.raises(SettingsError) as refused:
        use_plugins(settings)
    assert str(refused.value).startswith("plugins: own.py: ") and said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_rule_that_fails_leaves_the_rest_and_is_named(project: Path, jobs: str) -> None:
    (project / "tools/our_rules.py").write_text(HEAD + "        yield tree.nothing\n")
    ended = run("--jobs", jobs)
    assert ended.returncode == 2
    assert ended.stderr.splitlines() == [
        "onescience-check: tools/our_rules.py: fault in the project's rule my-rule: line 11: AttributeError: "
        "'Tree' object has no attribute 'nothing'; the rest was checked"
    ]
    assert "stage-input-not-list-safe" in ended.stdout or "1 error" in ended.stdout or ended.stdout


def test_pylint_knows_their_names_and_shows_none(project: Path) -> None:
    """Its messages are fixed before it knows the project; the settings may name them."""

    def pylint() -> str:
        command = [
            sys.executable,
            "-m",
            "pylint",
            "--load-plugins=onescience_check.checkers",
            "--disable=all",
        ]
        target = "src/ourlab/models/vortex.py"
        return subprocess.run(
            [*command, "--enable=onescience", target], capture_output=True, text=True
        ).stdout

    settings = project / "setup.cfg"
    settings.write_text(settings.read_text() + "select = E72, R9001\nfail-on = E, R9\n")
    said = pylint()
    assert "E7201" in said and "9001" not in said and "F7100" not in said
    (project / "tools/our_rules.py").write_text("raise SystemExit(5)\n")
    assert "F7100: plugins: tools/our_rules.py: line 1: SystemExit: 5" in pylint()


def test_what_the_interface_tells(project: Path) -> None:
    seen: list[interface.Tree] = []

    class Spy(interface.ProjectRule):
        code, symbol, message = "W9009", "a-spy", "%(what)s"

        def look(self, tree):
            seen.append(tree)
            yield from ()

    use_rules((Spy(),))
    from onescience_check.checkers.engine import run as engine_run
    from onescience_check.checkers.settings import load_settings

    engine_run([project], load_settings(project))
    (tree,) = seen
    assert {file.name for file in tree.files} >= {"ourlab.models.vortex", "ourlab.models.base"}
    assert all(file.is_target for file in tree.files)
    vortex = next(file for file in tree.files if file.name == "ourlab.models.vortex")
    stage = next(cls for cls in tree.classes if cls.name == "Vortex_stage0")
    assert stage.bases == ("ourlab.models.base.Stage", "torch.nn.Module") and stage.is_module
    assert tree.meaning(vortex, stage.node.bases[0]) == "ourlab.models.base.Stage"
    layers = {layer.name: layer for layer in tree.layers}
    assert layers["down"].kind == "row" and layers["down"].arguments["input_is_parallel"] is True
    assert layers["down"].arguments["output_size"] is interface.UNKNOWN
    states = {call.layer.name: (call.given.state, call.result.state) for call in tree.calls}
    assert states["up"][1] == "split" and states["down"] == ("split", "whole")
    (model,) = (model for model in tree.models if model.name == "Vortex")
    assert [stage.rank for stage in model.stages] == [0, 1] and model.original is None
    with pytest.raises(TypeError):
        bool(interface.UNKNOWN)


def test_the_command_leaves_no_trace_of_a_plugin_in_the_settings() -> None:
    assert Settings().plugins == ()
    assert cli.settings_of(EXAMPLE, with_plugins=False).plugins == ()
