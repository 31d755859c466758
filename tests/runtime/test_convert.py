"""Checkpoints move between layouts and a plain state dict without a changed bit."""

from pathlib import Path

import pytest
import torch

from onescience_check.runtime import convert
from onescience_check.runtime.checkpoint import files
from onescience_check.runtime.checkpoint.convert import Whole, gather, part_of
from onescience_check.runtime.checkpoint.files import Layout
from onescience_check.runtime.checkpoint.sharding import shard, unshard
from onescience_check.runtime.errors import UserError
from onescience_check.runtime.pipeline.build import stages_of_chunk
from tests import worlds

SCRIPT = Path(__file__).with_name("toy_train.py")
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
    return Whole(model, cuts, stages, optimizer)


def scatter(whole: Whole, layout: Layout, root: Path) -> Path:
    """Write `whole` as the ranks of a run of this layout would."""
    folder = files.checkpoint_folder(root, 7)
    draft, written = files.start_writing(folder), {}
    chunks = layout.pipeline * layout.virtual
    for rank in range(layout.pipeline):
        mine = range(rank, chunks, layout.pipeline)
        held = {stage for chunk in mine for stage in stages_of_chunk(chunk, chunks, layout.stages)}
        for tensor_rank in range(layout.tensor):
            name = files.rank_file(tensor_rank, rank)
            written[name] = files.write_tensors(
                draft / name, part_of(whole, held, tensor_rank, layout.tensor)
            )
    files.commit(draft, folder, files.Metadata(7, 28, layout, written))
    return folder


def same(first: Whole, second: Whole) -> bool:
    """Bit by bit."""
    pairs = [(first.model, second.model)] + [(first.optimizer[n], second.optimizer[n]) for n in first.model]
    return (first.cuts, first.stages) == (second.cuts, second.stages) and all(
        a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a) for a, b in pairs
    )


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_every_layout_gives_the_whole_back(layout, tmp_path):
    whole = whole_checkpoint()
    folder = scatter(whole, layout, tmp_path)
    assert len(list(folder.glob("tp*_pp*.pt"))) == layout.tensor * layout.pipeline
    assert same(whole, gather(tmp_path))


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


def test_a_run_goes_on_at_another_layout_and_its_weights_go_to_plain(tmp_path):
    """From tensor 2 x pipeline 2 to tensor 1 x pipeline 2."""
    flags = ["--train-iters", "4", "--global-batch-size", "2"]
    first = ["--tensor-model-parallel-size", "2", "--pipeline-model-parallel-size", "2"]
    second = ["--pipeline-model-parallel-size", "2"]
    log = ["--log-dir", tmp_path / "log"]
    ended = worlds.run(SCRIPT, 4, *first, *flags, "--exit-interval", "2", "--save", tmp_path / "a", *log)
    assert ended.code == 0, ended.output[-3000:]
    ended = worlds.run(SCRIPT, 2, *second, *flags, "--load", tmp_path / "a", *log)
    assert ended.code == 0, ended.output[-3000:]
    assert "resumed from iteration 2" in ended.output
    ended = worlds.run(SCRIPT, 4, *first, *flags, "--log-dir", tmp_path / "straight")
    curves = [
        [line.split(",")[2] for line in (tmp_path / run / "loss.csv").read_text().splitlines()[1:]]
        for run in ("log", "straight")
    ]
    # Two steps at one layout and two at another: sums in float32 in another order, 6e-8 a rounding, of 96
    # terms at most.
    assert [float(x) for x in curves[0]] == pytest.approx([float(x) for x in curves[1]], rel=1e-5)

    assert convert.main([str(tmp_path / "a"), str(tmp_path / "plain.pt")]) == 0
    from tests.runtime.toy_train import PlainToy

    PlainToy().load_state_dict(torch.load(tmp_path / "plain.pt", weights_only=True))
