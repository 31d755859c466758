"""Checkpoints move between layouts and a plain state dict without a changed bit."""

from pathlib import Path

import pytest
import torch

from onescience_check.runtime import convert
from onescience_check.runtime.checkpoint import files
from onescience_check.runtime.checkpoint.convert import Blueprint, Whole, adopt_plain, gather, scatter
from onescience_check.runtime.checkpoint.files import Layout
from onescience_check.runtime.checkpoint.sharding import shard, unshard
from onescience_check.runtime.errors import UserError
from tests import worlds

SCRIPT = Path(__file__).with_name("toy_train.py")
REPOSITORY = Path(__file__).parents[2]
LAYOUTS = [Layout(t, p, v, 4) for t, p, v in [(1, 1, 1), (2, 1, 1), (2, 4, 1), (4, 2, 2), (1, 3, 1)]]


def whole_checkpoint() -> Whole:
    """Four stages with a sharded, a strided and a replicated weight, and optimizer state."""
    torch.manual_seed(0)
    model, cuts, stages = {}, {}, {}
    for stage in range(4):
        for name, shape, cut in (
            ("fc", (8, 3), (0, 1)),
            ("gate", (16, 3), (0, 2)),
            ("row", (3, 8), (1, 1)),
            ("norm", (3,), None),
        ):
            model[f"layer{stage}.{name}"] = torch.randn(shape)
            stages[f"layer{stage}.{name}"] = [stage]
            if cut:
                cuts[f"layer{stage}.{name}"] = cut
    optimizer = {
        name: {"exp_avg": torch.randn_like(value), "step": torch.tensor(7.0)} for name, value in model.items()
    }
    return Whole(model, Blueprint(4, cuts, stages), optimizer, iteration=7, consumed_samples=28)


def same(first: Whole, second: Whole) -> bool:
    """Bit by bit."""
    pairs = [(first.model, second.model)] + [(first.optimizer[n], second.optimizer[n]) for n in first.model]
    return first.blueprint == second.blueprint and all(
        a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a) for a, b in pairs
    )


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_every_layout_gives_the_whole_back(layout, tmp_path):
    whole = whole_checkpoint()
    folder = scatter(whole, layout, tmp_path)
    assert len(list(folder.glob("tp*_pp*.pt"))) == layout.tensor * layout.pipeline
    back = gather(tmp_path)
    assert same(whole, back)
    assert (back.iteration, back.consumed_samples) == (7, 28)


def test_shards_of_a_strided_weight_take_a_piece_of_each_part():
    tensor = torch.arange(8).reshape(8, 1)
    assert shard(tensor, (0, 2), 1, 2, "gate").flatten().tolist() == [2, 3, 6, 7]
    assert torch.equal(
        unshard([shard(tensor, (0, 2), rank, 2, "gate") for rank in range(2)], (0, 2), "gate"), tensor
    )


def test_width_that_does_not_divide():
    with pytest.raises(UserError, match="fc: dimension 0 of size 9"):
        shard(torch.zeros(9, 2), (0, 1), 0, 2, "fc")


def test_replicated_weight_that_differs_between_ranks():
    with pytest.raises(UserError, match="norm is not sharded, yet tensor-parallel ranks 0 and 1 differ"):
        unshard([torch.zeros(3), torch.tensor([0.0, 0, 1e-6])], None, "norm")


def test_plain_checkpoint_of_another_model():
    blueprint = Blueprint(1, {}, {"a": [0], "b": [0]})
    with pytest.raises(UserError, match="lacks b"):
        adopt_plain({"a": torch.zeros(1)}, blueprint)
    with pytest.raises(UserError, match="does not have c"):
        adopt_plain({name: torch.zeros(1) for name in "abc"}, blueprint)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda folder: (folder / "tp1_pp0.pt").write_bytes((folder / "tp1_pp0.pt").read_bytes()[:-100]),
            "cut short",
        ),
        (lambda folder: flip_a_byte(folder / "tp1_pp0.pt"), "checksum"),
        (lambda folder: (folder / "tp1_pp0.pt").unlink(), "missing"),
        (lambda folder: (folder / "metadata.json").unlink(), "no checkpoint|not a checkpoint"),
        (lambda folder: (folder / "metadata.json").write_text('{"format": 1, "lay'), "damaged"),
    ],
)
def test_damaged_checkpoint_is_named(damage, message, tmp_path):
    folder = scatter(whole_checkpoint(), Layout(2, 1, 1, 4), tmp_path)
    damage(folder)
    with pytest.raises(UserError, match=message):
        gather(tmp_path)


def flip_a_byte(path: Path) -> None:
    """Change one byte in the middle."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def test_nothing_is_overwritten(tmp_path, capsys):
    scatter(whole_checkpoint(), Layout(1, 1, 1, 4), tmp_path / "a")
    with pytest.raises(UserError, match="exists and is left alone"):
        scatter(whole_checkpoint(), Layout(1, 1, 1, 4), tmp_path / "a")
    (tmp_path / "plain.pt").write_text("precious")
    assert convert.main([str(tmp_path / "a"), str(tmp_path / "plain.pt")]) == 1
    assert "exists and is left alone" in capsys.readouterr().err
    assert (tmp_path / "plain.pt").read_text() == "precious"


def test_half_written_checkpoint_is_not_seen(tmp_path):
    scatter(whole_checkpoint(), Layout(1, 1, 1, 4), tmp_path)
    files.start_writing(files.checkpoint_folder(tmp_path, 9))
    assert files.latest(tmp_path).name == "iter_0000007"


def test_trained_weights_go_to_plain_and_to_another_layout_and_train_on(tmp_path):
    """From a run at tensor 2 x pipeline 2 to plain, to tensor 1 x pipeline 4, back to plain, and on with the
    training.
    """
    flags = ["--train-iters", "4", "--global-batch-size", "2"]
    first = ["--tensor-model-parallel-size", "2", "--pipeline-model-parallel-size", "2"]
    ended = worlds.run(
        SCRIPT,
        4,
        *first,
        *flags,
        "--exit-interval",
        "2",
        "--save",
        tmp_path / "a",
        "--log-dir",
        tmp_path / "log",
    )
    assert ended.code == 0, ended.output[-3000:]

    plain, again = tmp_path / "plain.pt", tmp_path / "again.pt"
    assert convert.main([str(tmp_path / "a"), str(plain)]) == 0
    second = ["--pipeline-model-parallel-size", "2"]
    assert convert.main([str(tmp_path / "a"), str(tmp_path / "b"), *second]) == 0
    script = ["--script", str(SCRIPT)]
    assert (
        convert.main([str(plain), str(tmp_path / "c"), "--pipeline-model-parallel-size", "4", *script]) == 0
    )
    assert convert.main([str(tmp_path / "c"), str(again)]) == 0
    before, after = torch.load(plain, weights_only=True), torch.load(again, weights_only=True)
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)

    from tests.runtime.toy_train import PlainToy

    PlainToy().load_state_dict(before)

    ended = worlds.run(SCRIPT, 2, *second, *flags, "--load", tmp_path / "b", "--log-dir", tmp_path / "log")
    assert ended.code == 0, ended.output[-3000:]
    ended = worlds.run(SCRIPT, 4, *first, *flags, "--log-dir", tmp_path / "straight")
    curves = [
        [line.split(",")[2] for line in (tmp_path / run / "loss.csv").read_text().splitlines()[1:]]
        for run in ("log", "straight")
    ]
    # Two steps at one layout and two at another: sums in float32 in another order, 6e-8 a rounding, of 96
    # terms at most.
    assert [float(x) for x in curves[0]] == pytest.approx([float(x) for x in curves[1]], rel=1e-5)

    ended = worlds.run(SCRIPT, 2, *second, *flags, "--load", tmp_path / "a")
    assert ended.code == 1
    assert "onescience_check.runtime.convert" in ended.output and "Traceback" not in ended.output


def test_pangu_goes_from_plain_to_tensor_2_pipeline_4_and_back(tmp_path):
    """By the example's own training script, as its README has it."""
    from onescience_check.reference_models.models.pangu import Pangu

    script = REPOSITORY / "reference_models/examples/earth/pangu_weather_distributed_4stage/train.py"
    torch.manual_seed(0)
    plain = Pangu(img_size=(48, 96), embed_dim=32, num_heads=(2, 4, 4, 2), depths=(1, 3, 3, 1)).state_dict()
    torch.save(plain, tmp_path / "plain.pt")
    sizes = ["--tensor-model-parallel-size", "2", "--pipeline-model-parallel-size", "4"]
    assert (
        convert.main([str(tmp_path / "plain.pt"), str(tmp_path / "start"), *sizes, "--script", str(script)])
        == 0
    )
    assert len(list((tmp_path / "start").glob("iter_*/tp*_pp*.pt"))) == 8
    assert convert.main([str(tmp_path / "start"), str(tmp_path / "back.pt")]) == 0
    back = torch.load(tmp_path / "back.pt", weights_only=True)
    assert back.keys() == plain.keys()
    assert all(torch.equal(back[name], plain[name]) for name in plain)
