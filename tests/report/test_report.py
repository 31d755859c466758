"""The report on a model that is right, and on the same model with one fault."""

from __future__ import annotations

import re

import pytest

from onescience_check.checkers.language import local, speaking
from onescience_check.checkers.report.answers import line_name
from onescience_check.checkers.report.checklists import CHECKLISTS
from onescience_check.checkers.report.model import Mark

from .conftest import Tree, line, marks
from .small_model import SRC, STAGE_FILES, TRAIN, YAML

FUSER = f"{SRC}/modules/fuser/tinydistributedfuser.py"
ROLL = """import torch
from torch import nn

# RowParallelLinear


class Roll(nn.Module):
    def __init__(self, shift):
        super().__init__()
        self.shift = shift

    def forward(self, x):
        s_lat, s_lon = self.shift
        shifted = torch.roll(x, shifts=(-s_lat, -s_lat), dims=(1, 2))
        return torch.roll(shifted * 2, shifts=(s_lat, s_lon), dims=(1, 2))
"""
MLP = f"{SRC}/modules/mlp/tinydistributedmlp.py"


def test_a_right_model_has_no_red_line_and_is_ready_once_the_open_ones_are_read(tree: Tree) -> None:
    answered(tree)
    model = tree.model()
    nothing = ("Middle stages", "No mask crosses", "Windows", "Attention")
    assert {line(model, start).mark for start in nothing} == {Mark.NONE}
    assert model.ready is True, [task.what for task in model.tasks]
    assert not marks(model, Mark.NO) + marks(model, Mark.OPEN)
    assert model.tasks == () and model.notes == ()
    assert [stage.cls for stage in model.stages] == ["Tiny_stage0", "Tiny_stage1"]
    assert model.scripts == (TRAIN,) and model.configs == (f"{YAML} [model]",)


def test_every_line_of_a_report_speaks_chinese(tree: Tree) -> None:
    notes = [checked.note for checklist in tree.model().checklists for checked in checklist.lines]
    with speaking("zh"):
        said = [re.sub(r"`[^`]*`", "", local(note)) for note in notes]
    assert len(said) > 30
    assert not [note for note in said if re.search(r"\b(with|the|of|was|not|modules?|stages)\b", note)]


def test_the_tables_of_a_right_model(tree: Tree) -> None:
    model = tree.model()
    assert [(row.cls, row.expected, row.mark) for row in model.files[1:]] == [
        ("TinyFuser", "tinydistributedfuser.py", Mark.YES),
        ("TinyMlp", "tinydistributedmlp.py", Mark.YES),
    ]
    assert [(row.cls, row.style, row.mark) for row in model.registries] == [
        ("TinyDistributedFuser", "TinyDistributedFuser", Mark.YES),
        ("TinyDistributedMlp", "TinyDistributedMlp", Mark.YES),
    ]
    # 8 x 16 tokens of 32 channels in float32
    assert [(row.name, row.size, row.unpacked, row.declared) for row in model.boundaries.rows] == [
        ("x (from self.layer2)", 8 * 16 * 32 * 4, "x", "[1, 128, 32]"),
        ("skip (from self.layer1)", 8 * 16 * 32 * 4, "skip", "[1, 128, 32]"),
    ]
    # depth x tokens x (12 dim^2 + 2 window dim), two blocks on each stage
    assert [row.cost for row in model.balance.rows] == [2 * 128 * (12 * 32**2 + 2 * 8 * 32)] * 2
    # depth x tokens x dim x 16 numbers of 2 bytes
    assert [row.kept for row in model.balance.rows] == [2 * 128 * 32 * 16 * 2] * 2
    assert [(row.layer, row.slice, row.original_slice) for row in model.drop_path.rows] == [
        ("layer1", "?", "?"),  # one rate does not tell its ramp
        ("layer2", "?", "?"),
        ("layer3", "[2:4] of 4", "[2:4] of 4"),
    ]
    assert all(row.mark is Mark.YES for row in model.drop_path.rows)


def test_the_sizes_are_those_that_the_script_gives(tree: Tree) -> None:
    tree.edit(YAML, "grid: [8, 16]\n  dim: 32", "grid: [12, 20]\n  dim: 64")
    model = tree.model()
    assert {row.tokens for row in model.boundaries.rows} == {12 * 20}
    assert [row.cost for row in model.balance.rows] == [2 * 240 * (12 * 64**2 + 2 * 8 * 64)] * 2
    assert model.balance.method.endswith("sizes of the script")
    tree.edit(TRAIN, "grid=cfg.grid, dim", "grid=read_grid(), dim")
    model = tree.model()
    assert [row.cost for row in model.balance.rows] == [2, 2]
    assert model.balance.method == "number of blocks, sizes of the script"


def test_differences_from_the_original_are_a_table(tree: Tree) -> None:
    assert tree.model().differences.rows == ()
    assert len(tree.model().differences.compared) == 3  # the fuser, its MLP and the stages
    tree.edit(MLP, "nn.GELU()", "nn.SiLU()")
    (row,) = tree.model().differences.rows
    assert (row.name, row.original, row.distributed) == ("TinyDistributedMlp", "nn.GELU()", "nn.SiLU()")
    assert row.mark is Mark.NO and row.distributed_at.path == MLP
    tree.edit(MLP, "nn.SiLU()", "nn.SiLU()  # onescience: differs it trains as well and is faster")
    (row,) = tree.model().differences.rows
    assert row.mark is Mark.YES and row.note == "meant: it trains as well and is faster"


def test_what_cannot_be_aligned_is_never_a_yes(tree: Tree) -> None:
    tree.edit(
        MLP, "return x\n", "return torch.einsum('a,b', x, x).sort().values.cumsum(0).exp().log().erf()\n"
    )
    model = tree.model()
    assert line(model, "Stages and modules compute").mark is Mark.OPEN
    assert model.differences.notes


def test_memory_is_estimated_where_the_blocks_are_known_to_attend(tree: Tree) -> None:
    for name in STAGE_FILES:
        tree.edit(name, "window_size=(2, 4)", "window_size=read_window()")
    balance = tree.model().balance
    assert [row.kept for row in balance.rows] == [None, None]
    assert not any("Kept" in note for note in balance.notes)


def test_the_call_tree_reaches_the_parallel_layers(tree: Tree) -> None:
    first, second = tree.model().tree
    assert [child.name for child in first.children] == ["layer1", "layer2"]
    (block,) = first.children[0].children
    assert [(leaf.cls, leaf.kind, leaf.config) for leaf in block.children] == [
        ("ColumnParallelLinear", "parallel", "passed"),
        ("RowParallelLinear", "parallel", "passed"),
    ]
    assert second.children[0].via == "OneFuser"


def answered(tree: Tree) -> None:
    """Answer every open line in the training script."""
    lines = [
        line for checklist in tree.model().checklists for line in checklist.lines if line.mark is Mark.OPEN
    ]
    marks = "".join(f"# onescience: checked {line.name} {line.state} read by hand\n" for line in lines)
    tree.write(TRAIN, marks + (tree.root / TRAIN).read_text("utf-8"))


def test_an_answer_is_stale_when_the_code_changes_and_not_when_a_comment_does(tree: Tree) -> None:
    answered(tree)
    tree.edit(MLP, "        self.act = nn.GELU()\n", "        # GELU\n\n        self.act = nn.GELU()\n")
    assert tree.model().ready is True
    tree.edit(MLP, "nn.GELU()", "nn.SiLU()")
    model = tree.model()
    stale = [line for checklist in model.checklists for line in checklist.lines if "has changed" in line.note]
    assert stale and {line.mark for line in stale} == {Mark.OPEN} and model.ready is not True


def test_an_answer_turns_no_red_line_green(tree: Tree) -> None:
    tree.edit(TRAIN, ".is_distributed = True", ".is_distributed = False")
    state = tree.model().checklists[0].lines[0].state
    text = (tree.root / TRAIN).read_text("utf-8")
    tree.write(TRAIN, f"# onescience: checked is_distributed-true-is-set {state} set elsewhere\n{text}")
    assert line(tree.model(), "is_distributed").mark is Mark.NO


def test_every_line_has_a_name_of_its_own() -> None:
    names = [line_name(check.text) for checks in CHECKLISTS.values() for check in checks]
    assert len(names) == len(set(names)) and all(names)


def test_a_finding_three_imports_away_turns_its_line_red(tree: Tree) -> None:
    folder = f"{SRC}/modules/mlp"
    tree.edit(MLP, "        x, _ = self.fc1(x)\n", "        x, _ = self.fc1(shifted(x))\n")
    tree.edit(MLP, "from torch import nn\n", "from torch import nn\n\nfrom .first import shifted\n")
    tree.write(f"{folder}/first.py", "from .second import roll\n\n\ndef shifted(x):\n    return roll(x)\n")
    tree.write(f"{folder}/second.py", "from .third import Roll\n\n\ndef roll(x):\n    return Roll(2)(x)\n")
    tree.write(f"{folder}/third.py", ROLL)
    found = line(tree.model(), "Windows are rolled back")
    assert found.mark is Mark.NO and found.places[0].path.endswith("third.py")


@pytest.mark.parametrize(
    ("file", "old", "new", "start"),
    [
        (STAGE_FILES[0], "        self.input_tensor = None\n", "", "Each stage sets"),
        (STAGE_FILES[1], "x, skip = tuple(self.input_tensor)", "x, skip = x, x", "Later stages"),
        (STAGE_FILES[1], "depth1 + depth2 :]", ":depth3]", "drop_path slices"),
        (STAGE_FILES[1], "depths=(1, 1, 2)", "depths=(1, 1, 6)", "The work of the stages"),
        (STAGE_FILES[1], ", **kwargs", "", "Stages take the original's"),
        (MLP, "nn.GELU()", "nn.SiLU()", "Stages and modules compute"),
        (STAGE_FILES[1], "return x + skip", "return x - skip", "Stages and modules compute"),
        (STAGE_FILES[1], "TinyDistributedFuser", "TinyFusion", "Distributed modules are there"),
        (MLP, "input_is_parallel=True", "input_is_parallel=False", "Every input_is_parallel"),
        (MLP, "x, _ = self.fc1(x)", "x = self.fc1(x)", "The (output, bias) pair"),
        (TRAIN, "[1, tokens, cfg.dim], [1", "[1, tokens, 64], [1", "stage_shapes agree"),
        (TRAIN, "partial(loss_func, outvar)", "partial(loss_func, output)", "loss_func gets"),
        (TRAIN, ".is_distributed = True", ".is_distributed = False", "is_distributed"),
        (YAML, "  dim: 32\n", "", "Every YAML key"),
    ],
)
def test_one_fault_turns_its_line_red(tree: Tree, file: str, old: str, new: str, start: str) -> None:
    tree.edit(file, old, new)
    model = tree.model()
    found = line(model, start)
    assert found.mark is Mark.NO and found.places and model.ready is False
    assert {task.rule for task in model.tasks} & set(found.rules)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        (STAGE_FILES[1], "TinyDistributedFuser", "TinyFuser"),
        (FUSER, 'style="TinyDistributedMlp", dim=dim, config=config', 'style="TinyMlp", dim=dim'),
    ],
)
def test_a_plain_style_in_the_chain_is_never_a_yes(tree: Tree, file: str, old: str, new: str) -> None:
    tree.edit(file, old, new)
    model = tree.model()
    assert line(model, "Every One* style").mark is not Mark.YES and model.ready is not True


def test_a_config_that_stops_shows_in_the_tree(tree: Tree) -> None:
    tree.edit(FUSER, ", dim=dim, config=config", ", dim=dim, config=None")
    model = tree.model()
    assert model.tree[0].children[0].children[0].config == "stops"


def test_a_rule_that_is_switched_off_leaves_its_line_open(tree: Tree) -> None:
    tree.write("setup.cfg", "[onescience-check]\nignore = W7203\n")
    from onescience_check.checkers.report.build import make_report
    from onescience_check.checkers.settings import load_settings

    (model,) = make_report([tree.root], load_settings(tree.root)).models
    assert line(model, "Stages take the original's").mark is Mark.OPEN and model.ready is None
