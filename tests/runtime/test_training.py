"""Flags, order of data, optimizer, and runs that must agree across layouts."""

import csv
from itertools import islice
from pathlib import Path

import pytest
import torch

from onescience_check.runtime import flags as runtime_flags
from onescience_check.runtime.errors import UserError
from onescience_check.runtime.process_groups import check_world
from onescience_check.runtime.training.data import MicroBatchSampler, check_dataset
from tests import worlds

SCRIPT = Path(__file__).with_name("toy_train.py")
TRAIN = [
    "--train-iters",
    6,
    "--global-batch-size",
    4,
    "--lr-warmup-iters",
    2,
    "--clip-grad",
    0.5,
    "--lr",
    1e-3,
    "--eval-interval",
    6,
    "--full-validation",
]


def rows(root: Path) -> list[dict[str, float]]:
    """loss.csv as numbers."""
    with open(root / "loss.csv", newline="", encoding="utf-8") as file:
        return [{name: float(value) for name, value in row.items() if value} for row in csv.DictReader(file)]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The run on a single process."""
    root = tmp_path_factory.mktemp("alone")
    ended = worlds.run(SCRIPT, 1, *TRAIN, "--log-dir", root, "--tensorboard-dir", root / "events")
    assert ended.code == 0, ended.output[-3000:]
    assert list((root / "events").glob("events.out.tfevents.*"))
    assert (root / "loss.png").stat().st_size > 1000
    return rows(root)


@pytest.mark.parametrize(
    ("size", "layout"),
    [
        (4, ["--tensor-model-parallel-size", 2]),  # and two replicas
        (4, ["--tensor-model-parallel-size", 2, "--pipeline-model-parallel-size", 2]),
        (
            2,
            [
                "--pipeline-model-parallel-size",
                2,
                "--num-virtual-stages-per-pipeline-rank",
                2,
                "--num-workers",
                1,
            ],
        ),
    ],
)
def test_loss_and_gradient_norm_do_not_depend_on_the_layout(alone, size, layout, tmp_path):
    ended = worlds.run(SCRIPT, size, *layout, *TRAIN, "--log-dir", tmp_path)
    assert ended.code == 0, ended.output[-3000:]
    # float32, 6e-8 a rounding, over six steps; the first steps clip, so a wrong norm would show in the loss
    # as well.
    for name in ("lm loss", "grad_norm", "learning_rate"):
        assert [row[name] for row in rows(tmp_path)] == pytest.approx([row[name] for row in alone], rel=2e-5)
    assert alone[0]["grad_norm"] > 0.5
    validated = "validation lm loss"  # of five samples, which fill no step
    assert rows(tmp_path)[-1][validated] == pytest.approx(alone[-1][validated], rel=2e-5)
    assert f"{size} processes on cpu (gloo): tensor-parallel" in ended.output


def test_learning_rate_warms_up_and_decays(alone):
    rates = [row["learning_rate"] for row in alone]
    assert rates[:3] == pytest.approx([0.0, 0.5e-3, 1e-3])
    assert rates[3:] == sorted(rates[3:], reverse=True) and rates[3] < 1e-3


def test_bfloat16_follows_float32(alone, tmp_path):
    layout = ["--tensor-model-parallel-size", 1, "--pipeline-model-parallel-size", 2]
    ended = worlds.run(SCRIPT, 2, *layout, *TRAIN, "--bf16", "--log-dir", tmp_path)
    assert ended.code == 0, ended.output[-3000:]
    # bfloat16 keeps 8 bits: 2^-9 a rounding, and the loss is made of differences of some ten such numbers.
    losses = [row["lm loss"] for row in rows(tmp_path)]
    assert losses == pytest.approx([row["lm loss"] for row in alone], rel=10 * 2**-9)
    assert losses != [row["lm loss"] for row in alone]


def test_every_step_sees_each_sample_once_per_epoch_and_replicas_share():
    replicas = [MicroBatchSampler(10, 0, 1, replica, 2, shuffle_seed=1) for replica in range(2)]
    drawn = [[batch[0] for batch in islice(sampler, 10)] for sampler in replicas]
    seen = [sample for pair in zip(*drawn, strict=True) for sample in pair]
    assert sorted(seen[:10]) == sorted(seen[10:]) == list(range(10))
    assert seen[:10] != seen[10:] != list(range(10))


@pytest.mark.parametrize("seed", [None, 5])
def test_order_goes_on_where_it_stopped(seed):
    whole = list(islice(MicroBatchSampler(7, 0, 2, 0, 1, seed), 12))
    rest = list(islice(MicroBatchSampler(7, 10, 2, 0, 1, seed), 7))
    assert whole[5:] == rest


@pytest.mark.parametrize(
    ("argv", "defaults", "message"),
    [
        (["--tensor-parallel", "2"], {}, "--tensor-parallel"),
        (["--tensor-model-parallel", "2"], {}, "--tensor-model-parallel"),  # no guessing of abbreviations
        (["--lr", "fast"], {}, "--lr"),
        (["--lr", "-1"], {}, "--lr must be 0 or more"),
        (["--micro-batch-size", "0"], {}, "--micro-batch-size must be 1 or more"),
        (["--num-attention-heads", "6", "--tensor-model-parallel-size", "4"], {}, "6 is not a multiple"),
        (["--lr-warmup-iters", "100"], {}, "--lr-warmup-iters 100"),
        (["--min-lr", "1"], {}, "--min-lr"),
        (["--num-virtual-stages-per-pipeline-rank", "1"], {}, "2 or more"),
        ([], {"dataloader": "cyclic"}, "unknown flag 'dataloader'"),
        ([], {"dataloader_type": "random"}, "choose one of cyclic, single"),
        ([], {"lr": "1e-4"}, "lr: '1e-4' is not of type float"),
        ([], {"bf16": 1}, "bf16: 1 is not of type bool"),
    ],
)
def test_flags_that_cannot_be_meant(argv, defaults, message):
    with pytest.raises(UserError, match=message):
        runtime_flags.parse_args(defaults, argv=argv)


@pytest.mark.parametrize(("size", "tensor", "pipeline"), [(8, 3, 1), (4, 2, 4), (1, 2, 1), (6, 2, 2)])
def test_world_that_does_not_fit(size, tensor, pipeline):
    with pytest.raises(UserError, match=f"start a multiple of {tensor * pipeline} processes"):
        check_world(size, tensor, pipeline)


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        (torch.utils.data.DataLoader([1]), "returned a DataLoader"),
        (None, "not NoneType"),
        (torch.utils.data.TensorDataset(torch.zeros(0)), "empty"),
    ],
)
def test_data_that_cannot_be_trained_on(dataset, message):
    with pytest.raises(UserError, match=message):
        check_dataset(dataset, "training")
