"""`onescience-check new`: what a draft holds, that the check passes on it, and bad input."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from onescience_check.checkers.engine import run
from onescience_check.checkers.frontends.cli import main
from onescience_check.checkers.settings import load_settings

PLAIN = Path(__file__).parents[2] / "docs/tutorial/0_plain"
MODEL = "src/weather/models/swirl/swirl.py"
STAGES = "src/weather/models/swirl_distributed_4stage"
New = Callable[..., tuple[int, str, str]]


@pytest.fixture
def new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> New:
    shutil.copytree(PLAIN, tmp_path / "tree", ignore=shutil.ignore_patterns("__pycache__", "data"))
    monkeypatch.chdir(tmp_path / "tree")
    monkeypatch.setattr(gc, "disable", lambda: None)  # the command's process ends, this one goes on

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["onescience-check", "new", *words, "--lang", "en"])
        with pytest.raises(SystemExit) as end:
            main()
        streams = capfd.readouterr()
        return int(end.value.code or 0), streams.out, streams.err

    return call


def files(tree: Path) -> dict[str, str]:
    return {str(p.relative_to(tree)): p.read_text() for p in sorted(tree.rglob("*")) if p.is_file()}


def test_a_draft_is_whole_and_passes_the_check(new: New) -> None:
    tree = Path.cwd()
    before = files(tree)
    code, out, err = new("Swirl", "--original", MODEL)
    assert (code, err) == (0, "")
    after = files(tree)
    assert set(before) < set(after)
    assert {Path(name).name for name in after if before.get(name, after[name]) != after[name]} == {
        "oneattention.py",
        "onefuser.py",
        "onemlp.py",
    }
    marks = sum(text.count("TODO(onescience-check)") for text in after.values())
    assert f"{marks} places marked" in out
    result = run([tree], load_settings(tree))
    assert result.findings == [] and not result.skipped
    assert result.summary.parallel_layers == 7


def test_each_layer_is_on_one_stage_and_what_crosses_is_sent(new: New) -> None:
    new("Swirl", "--original", MODEL)
    texts = [Path(STAGES, f"swirl_stage{index}.py").read_text() for index in range(4)]
    for name in ("embed", "layer1", "downsample", "layer2", "layer3", "upsample", "layer4", "recover"):
        assert sum(f"self.{name} = " in text for text in texts) == 1
    assert "return (x.contiguous(),)" in texts[0]  # the next stage takes `skip` from it
    assert all("return x.contiguous(), skip.contiguous()" in text for text in texts[1:3])
    assert all("x, skip = self.input_tensor" in text for text in texts[2:])
    assert "input_tensor = None" in texts[0] and "= self.input_tensor" not in texts[0]
    assert "checkpoint(self.layer2, False, x) if self.recompute else self.layer2(x)" in texts[1]


def test_the_number_of_stages_is_free(new: New) -> None:
    assert new("Swirl", "--original", MODEL, "--stages", "2")[0] == 0
    folder = Path(STAGES.replace("4", "2"))
    assert sorted(p.name for p in folder.iterdir()) == [
        "__init__.py",
        "pipeline_stage.py",
        "swirl_stage0.py",
        "swirl_stage1.py",
    ]
    result = run([Path.cwd()], load_settings(Path.cwd()))
    assert result.findings == []


def test_a_value_that_no_input_has_a_part_in_is_made_on_each_stage(new: New) -> None:
    text = Path(MODEL).read_text()
    text = text.replace("        self.embed =", "        self.limit = 3.0\n        self.embed =")
    text = text.replace("        skip = x\n", "        skip = x\n        most = self.limit * 2\n")
    Path(MODEL).write_text(text.replace("torch.cat([x, skip]", "torch.cat([x.clamp(max=most), skip]"))
    assert new("Swirl", "--original", MODEL)[0] == 0
    last = Path(STAGES, "swirl_stage3.py").read_text()
    assert "most = self.limit * 2" in last and "self.limit = 3.0" in last
    assert "x, skip = self.input_tensor" in last


FOUR_AXES = [
    ("x = self.fc1(x)", "rows, columns, cells, dim = x.shape\n        x = self.fc1(x)", "x"),  # by its shape
    ("x = self.fc1(x)", "x = x.view(1, 2, 3, -1)\n        x = self.fc1(x)", "x"),  # by what made it
    ("x = self.fc1(x)", "x = self.fc1(x.permute(0, 2, 3, 1))", "given"),  # where it is given
]


@pytest.mark.parametrize(("line", "instead", "name"), FOUR_AXES)
def test_four_axes_are_joined_in_front_of_a_parallel_layer(
    new: New, line: str, instead: str, name: str
) -> None:
    path = Path("src/weather/modules/mlp/swirlmlp.py")
    text = path.read_text()
    assert text.count("self.fc2(self.act(self.fc1(x)))") == 1
    text = text.replace(
        "return self.fc2(self.act(self.fc1(x)))", f"{instead}\n        return self.fc2(self.act(x))"
    )
    path.write_text(text)
    assert new("Swirl", "--original", MODEL)[0] == 0
    made = path.with_name("swirldistributedmlp.py").read_text()
    given = "(given := x.permute(0, 2, 3, 1))" if name == "given" else "x"
    assert f"self.fc1({given}.flatten(0, -2))[0].unflatten(0, {name}.shape[:-1])" in made
    assert "self.fc2((given := self.act(x)).flatten(0, -2))[0].unflatten(0, given.shape[:-1])" in made
    assert run([Path.cwd()], load_settings(Path.cwd())).findings == []


def test_four_axes_are_known_from_where_a_module_is_used(new: New) -> None:
    path = Path("src/weather/modules/fuser/swirlfuser.py")
    text = path.read_text()
    assert text.count("self.mlp(self.norm2(x))") == 1
    path.write_text(text.replace("self.mlp(self.norm2(x))", "self.mlp(self.norm2(x.permute(0, 2, 1, 3)))"))
    assert new("Swirl", "--original", MODEL)[0] == 0
    made = Path("src/weather/modules/mlp/swirldistributedmlp.py").read_text()
    assert "self.fc1(x.flatten(0, -2))[0].unflatten(0, x.shape[:-1])" in made


def test_what_takes_the_input_itself_is_not_computed_again(new: New) -> None:
    text = Path(MODEL).read_text()
    line = "        x = self.embed(x).permute(0, 2, 3, 1)  # B, Y, X, C\n"
    assert line in text
    Path(MODEL).write_text(text.replace(line, ""))
    assert new("Swirl", "--original", MODEL)[0] == 0
    first = Path(STAGES, "swirl_stage0.py").read_text()
    assert "x = self.layer1(x)\n" in first  # `checkpoint` of what has no gradient gives the weights none


def test_several_inputs_and_outputs_are_marked(new: New) -> None:
    text = Path(MODEL).read_text()
    text = text.replace("def forward(self, x)", "def forward(self, x, y)")
    text = text.replace("return self.recover(x", "return self.recover(x + y")
    Path(MODEL).write_text(text)
    assert new("Swirl", "--original", MODEL)[0] == 0
    first = Path(STAGES, "swirl_stage0.py").read_text()
    assert "the step gives one tensor" in first and "no gradient goes back to the input (y)" in first


def broken(text: str) -> Callable[[], object]:
    return lambda: Path(MODEL).write_text(text)


BAD = [
    (lambda: None, ("Swirl", "--original", "src/none.py"), "src/none.py: no such file"),
    (lambda: None, ("Swirl", "--original", f"{MODEL}:Whirl"), f"{MODEL} has no module class Whirl"),
    (
        lambda: None,
        ("Swirl", "--original", MODEL, "--stages", "1"),
        "--stages 1: a pipeline has two stages or more",
    ),
    (
        lambda: None,
        ("Swirl", "--original", MODEL, "--stages", "90"),
        "Swirl: its forward has fewer steps than 90",
    ),
    (lambda: None, ("a-b", "--original", MODEL), "a-b: not a name for a class"),
    (lambda: None, ("Swirl", "--original", MODEL, "--into", "examples"), "its modules are needed beside it"),
    (
        broken("class Swirl(:\n"),
        ("Swirl", "--original", MODEL),
        f"{MODEL}: syntax error at line 1",
    ),
    (broken("x = 1\n"), ("Swirl", "--original", MODEL), f"{MODEL}: which class?"),
    (lambda: Path(STAGES).mkdir(), ("Swirl", "--original", MODEL), ""),
    (
        lambda: Path("examples/earth/swirl_distributed_4stage").write_text(""),
        ("Swirl", "--original", MODEL),
        "cannot be",
    ),
]


@pytest.mark.parametrize(("prepare", "words", "said"), BAD, ids=[str(index) for index in range(len(BAD))])
def test_bad_input_gets_one_line_and_leaves_nothing(
    new: New, prepare: Callable[[], object], words: tuple[str, ...], said: str
) -> None:
    prepare()
    before = files(Path.cwd())
    code, _, err = new(*words)
    if not said:  # an empty folder is none of ours, and no harm
        assert code == 0
        return
    assert code == 2 and said in err and err.count("\n") == 1
    assert files(Path.cwd()) == before


def test_a_second_run_and_a_draft_of_a_draft_are_refused(new: New) -> None:
    new("Swirl", "--original", MODEL)
    before = files(Path.cwd())
    code, _, err = new("Swirl", "--original", MODEL)
    assert code == 2 and "exists already" in err
    code, _, err = new("Twice", "--original", f"{STAGES}/swirl_stage1.py")
    assert code == 2 and "is distributed already" in err
    assert files(Path.cwd()) == before
