"""The report on input that lacks something."""

from __future__ import annotations

import pytest

from onescience_check.checkers.report.model import Mark

from .conftest import Tree, line
from .small_model import FILES, SRC, STAGE_FILES, TRAIN, YAML


def test_no_training_script(tree: Tree) -> None:
    (tree.root / TRAIN).unlink()
    model = tree.model()
    assert "No training script that builds these stages was found." in model.notes
    assert {line.mark for line in model.checklists[2].lines} == {Mark.OPEN} and model.ready is None
    assert all(row.size is None for row in model.boundaries.rows)


def test_two_scripts_for_one_family(tree: Tree) -> None:
    text = (tree.root / TRAIN).read_text("utf-8")
    tree.write(
        "examples/earth/tiny_distributed/train_small.py",
        text.replace("tokens, cfg.dim], [1", "tokens, 64], [1"),
    )
    model = tree.model()
    assert "2 training scripts build these stages: each was checked." in model.notes
    assert model.boundaries.rows[0].mark is Mark.NO
    assert model.boundaries.rows[0].declared == "train.py: [1, 128, 32]; train_small.py: [1, 128, 64]"


def test_a_stage_is_missing(tree: Tree) -> None:
    (tree.root / STAGE_FILES[0]).unlink()
    tree.write(f"{SRC}/models/tiny_distributed/__init__.py", "from .tiny_stage1 import Tiny_stage1\n")
    model = tree.model()
    assert "No class was found for rank 0." in model.notes
    assert model.ready is not True and model.boundaries.rows == ()
    assert line(model, "Middle stages").mark is Mark.OPEN


def test_what_was_not_seen_is_named_as_it_is_written(tree: Tree) -> None:
    text = (tree.root / STAGE_FILES[0]).read_text("utf-8")
    last = text[text.rindex("        return ") :].strip()
    tree.edit(STAGE_FILES[0], last, "return some_tool(x), x")
    notes = [each.note for checklist in tree.model().checklists for each in checklist.lines]
    assert any("what makes `some_tool(x)` of Tiny_stage0 was not seen" in note for note in notes)


def test_a_gap_in_the_ranks(tree: Tree) -> None:
    for name, old, new in (
        (STAGE_FILES[1], "Tiny_stage1", "Tiny_stage2"),
        (TRAIN, "Tiny_stage1", "Tiny_stage2"),
    ):
        tree.edit(name, old, new)
    tree.edit(f"{SRC}/models/tiny_distributed/__init__.py", "import Tiny_stage1", "import Tiny_stage2")
    tree.edit(TRAIN, "1: Tiny_stage2", "2: Tiny_stage2")
    model = tree.model()
    assert "No class was found for rank 1." in model.notes
    assert [row.unpacked for row in model.boundaries.rows] == ["no such stage"] * 2
    assert line(model, "Later stages").mark is Mark.OPEN and model.ready is not True


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "there is no such file"),
        ("model: [1, 2\n", "it is not valid YAML"),
        ("model:\n  grid: {{ grid }}\n  dim: 32\n", "it is a template"),
    ],
)
def test_a_yaml_file_that_cannot_be_used(tree: Tree, text: str | None, problem: str) -> None:
    if text is None:
        (tree.root / YAML).unlink()
    else:
        tree.write(YAML, text)
    model = tree.model()
    assert any(YAML in note and problem in note for note in model.notes)
    assert line(model, "Every YAML key").mark is Mark.OPEN
    assert line(model, "stage_shapes agree").mark is Mark.OPEN and model.boundaries.rows[0].size is None


def test_anchors_are_resolved(tree: Tree) -> None:
    tree.write(YAML, "base: &base\n  grid: [8, 16]\nmodel:\n  <<: *base\n  dim: 32\n")
    assert line(tree.model(), "Every YAML key").mark is Mark.YES


def test_the_original_was_deleted(tree: Tree) -> None:
    (tree.root / f"{SRC}/models/tiny/tiny.py").unlink()
    tree.write(f"{SRC}/models/tiny/__init__.py", "")
    model = tree.model()
    assert (
        model.original is None
        and "The original model was not found: nothing can be compared with it." in model.notes
    )
    for start in ("drop_path slices", "Stages take", "The stages together", "Distributed modules are there"):
        assert line(model, start).mark is Mark.OPEN
    assert model.files[0].original == "not found"


def test_several_models_in_one_tree(tree: Tree) -> None:
    for name in (*STAGE_FILES, TRAIN, YAML):
        text = (tree.root / name).read_text("utf-8")
        tree.write(
            name.replace("tiny", "small"),
            text.replace("Tiny_stage", "Small_stage").replace("tiny_d", "small_d"),
        )
    tree.write(
        f"{SRC}/models/small_distributed/__init__.py",
        "from .small_stage0 import Small_stage0\nfrom .small_stage1 import Small_stage1\n",
    )
    assert [(model.name, model.original is None) for model in tree.report().models] == [
        ("Small", True),
        ("Tiny", False),
    ]
    assert [model.name for model in tree.report(f"{SRC}/models/tiny_distributed").models] == ["Tiny"]
    assert [model.name for model in tree.report(TRAIN).models] == ["Tiny"]


def test_no_model(tree: Tree) -> None:
    tree.write("other/plain.py", "from torch import nn\n\n\nclass Net(nn.Module):\n    pass\n")
    assert tree.report("other").models == ()


def test_a_file_that_cannot_be_read_is_named(tree: Tree) -> None:
    tree.write(STAGE_FILES[1], "class Tiny_stage1(\n")
    report = tree.report()
    assert any(STAGE_FILES[1] in text for text in report.skipped)
    assert report.models == () or report.models[0].ready is not True


def test_what_stages_have_in_common_is_no_model(tree: Tree) -> None:
    for name in STAGE_FILES:
        text = (tree.root / name).read_text("utf-8")
        start = text.index("    def set_input_tensor")
        text = text.replace(text[start : text.index("    def forward")], "")
        tree.write(name, "from .tiny_stage import TinyStage\n" + text.replace("(nn.Module)", "(TinyStage)"))
    tree.write(
        f"{SRC}/models/tiny_distributed/tiny_stage.py",
        "from torch import nn\n\n\nclass TinyStage(nn.Module):\n"
        "    def set_input_tensor(self, input_tensor):\n        self.input_tensor = input_tensor\n",
    )
    assert [model.name for model in tree.report().models] == ["Tiny"]


def test_a_pair_whose_widths_cannot_be_compared_is_open(tree: Tree) -> None:
    name = next(name for name in FILES if "RowParallelLinear(" in FILES[name])
    text = (tree.root / name).read_text("utf-8")
    start = text.index("RowParallelLinear(", text.index("class "))
    given = text[start:].split("(", 1)[1].lstrip().split(",")[0]
    tree.write(name, f"{text[:start]}{text[start:].replace(given, f'{given} // 3 * 2', 1)}")
    assert line(tree.model(), "Two layers in a row").mark is not Mark.YES
