"""The parts of a training run that a world is not needed for."""

import argparse
import json
import resource
import signal
import socket
import sys

import numpy as np
import pytest
import torch

from onescience_check.runtime import era5_generator, flags, process_groups, stuck
from onescience_check.runtime.checkpoint import files
from onescience_check.runtime.era5 import CHANNELS, ERA5Dataset
from onescience_check.runtime.errors import UserError
from onescience_check.runtime.pipeline.schedule import counting
from onescience_check.runtime.training import data
from onescience_check.runtime.training.folders import claim_folders
from onescience_check.runtime.training.records import Records


def folders(save=None, log_dir=None):
    return argparse.Namespace(save=save, log_dir=log_dir)


def test_a_folder_belongs_to_one_run_until_it_ends(tmp_path):
    mine = claim_folders(folders(tmp_path / "run", tmp_path / "run"))
    assert len(mine) == 1, "a folder for both is claimed once"
    with pytest.raises(UserError, match=r"--log-dir .*run is in use by process \d+ on .*: wait for its end"):
        claim_folders(folders(log_dir=tmp_path / "run"))
    mine[0].close()
    claim_folders(folders(tmp_path / "run"))[0].close()


def test_a_folder_that_cannot_be_written_is_known_at_once(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"--save .*file cannot be written"):
        claim_folders(folders(tmp_path / "file"))


@pytest.mark.parametrize(
    ("micro", "replicas", "multiple"), [(1, 1, 1), (2, 1, 2), (2, 3, 1), (3, 2, 4), (4, 2, 1)]
)
def test_full_validation_counts_each_sample_once(micro, replicas, multiple):
    plans = [data.whole_set(7, micro, replica, replicas, multiple) for replica in range(replicas)]
    assert len({len(plan) for plan in plans}) == 1 and len(plans[0]) % multiple == 0
    seen = np.zeros(7)
    for batch, weight in (part for plan in plans for part in plan):
        assert len(batch) == micro
        np.add.at(seen, batch, weight)
    assert seen == pytest.approx(1.0)


def test_the_last_and_the_best_checkpoints_are_kept(tmp_path):
    losses = {1: 0.5, 2: 0.1, 3: 0.4, 4: None, 5: 0.3}
    for iteration, loss in losses.items():
        folder = files.checkpoint_folder(tmp_path, iteration)
        metadata = files.Metadata(iteration, 0, files.Layout(1, 1, 1, 1), {}, validation=loss)
        files.commit(files.start_writing(folder), folder, metadata)
    files.delete_old(tmp_path, last=2, best=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"iter_{i:07d}" for i in (2, 4, 5)]
    files.delete_old(tmp_path, last=1, best=0)
    assert [path.name for path in tmp_path.iterdir()] == ["iter_0000005"]


def make_records(folder, start=0, total=20, resuming=False, last_row=None):
    return Records(str(folder), None, start, total, resuming, log_interval=10, last_row=last_row)


def row(iteration, loss=1.0):
    numbers = {"learning_rate": 1e-3, "grad_norm": 0.5, "seconds": 0.25}
    return {"iteration": iteration, "consumed_samples": 4 * iteration, "lm loss": loss, **numbers}


def test_lines_tell_the_speed_and_a_jump_of_the_loss(tmp_path, capsys):
    records = make_records(tmp_path)
    for iteration in range(1, 13):
        records.add(row(iteration, 5.0 if iteration == 12 else 1.0))
    records.close()
    printed, warned = capsys.readouterr()
    assert printed.endswith("seconds 0.25, 16 samples/s, 0:00:02 left\n") and printed.count("\n") == 1
    assert "warning: iteration 12: lm loss 5 is 5.0 times the median of the 11 before" in warned


@pytest.mark.parametrize("cut", [1, 3, 20])
def test_a_line_that_was_cut_is_written_anew_from_the_checkpoint(tmp_path, capsys, cut):
    records = make_records(tmp_path)
    for iteration in (1, 2, 3):
        records.add(row(iteration))
    path = tmp_path / "loss.csv"
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    make_records(tmp_path, start=3, resuming=True, last_row=row(3))
    assert path.read_bytes() == whole and not capsys.readouterr().err


def test_rows_that_are_lost_are_told(tmp_path, capsys):
    make_records(tmp_path).add(row(1))
    make_records(tmp_path, start=5, resuming=True, last_row=row(5))
    assert "loss.csv was cut short: iterations 2 to 4 are missing in it" in capsys.readouterr().err
    lines = (tmp_path / "loss.csv").read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[0] for line in lines] == ["iteration", "1", "5"]


def test_a_record_goes_on_behind_a_line_that_was_cut(tmp_path):
    records = make_records(tmp_path)
    for iteration in (1, 2, 3):
        records.add(row(iteration))
    path = tmp_path / "loss.csv"
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole[:-3], encoding="utf-8")
    make_records(tmp_path, start=3, resuming=True)
    assert path.read_text(encoding="utf-8").splitlines() == whole.splitlines()[:3]


@pytest.mark.parametrize(
    "text", ["\x00garbage\nmore, of it\n", "iteration,lm loss\n1,2,3\n", "iteration,a\nx,1\n"]
)
def test_a_record_that_is_none_is_left_alone(tmp_path, text):
    (tmp_path / "loss.csv").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"loss.csv is not the record of a run .*left alone"):
        make_records(tmp_path, start=3, resuming=True)
    assert (tmp_path / "loss.csv").read_text(encoding="utf-8") == text


def test_who_is_stuck_is_told_from_those_that_wait():
    waits, where = stuck.place(sys._getframe())
    assert (
        not waits
        and where.startswith(f"{__file__}:")
        and where.endswith("in " + "test_who_is_stuck_is_told_from_those_that_wait")
    )
    places = {
        0: (True, "train.py:9 in <module>"),
        1: (False, "data.py:5 in read"),
        2: (True, "train.py:9 in <module>"),
    }
    assert stuck.describe(places, 61) == "no step for 61 s: rank 1 is at data.py:5 in read; the others wait"
    del places[1]
    assert stuck.describe(places, 61).startswith(
        "no step for 61 s: every rank waits for others: rank 0 train.py:9"
    )


def test_a_rank_in_a_collective_waits():
    found = []
    patched = lambda *words: found.append(stuck.place(sys._getframe(1)))  # noqa: E731
    original = torch.distributed.distributed_c10d._rank_not_in_group
    torch.distributed.distributed_c10d._rank_not_in_group = patched
    try:
        torch.distributed.all_reduce(torch.zeros(1))
    except ValueError:
        pass  # there is no world
    finally:
        torch.distributed.distributed_c10d._rank_not_in_group = original
    assert found and found[0][0] and found[0][1].endswith("in test_a_rank_in_a_collective_waits")


@pytest.fixture
def root(tmp_path):
    era5_generator.generate(tmp_path / "era5", [2000], (8, 16), times=5, seed=0)
    return tmp_path / "era5"


def test_values_that_are_no_numbers_are_named_by_file_time_and_channel(root):
    import h5py

    with h5py.File(root / "data" / "2000.h5", "a") as file:
        file["fields"][2, 3, 4, 5] = np.nan
    dataset = ERA5Dataset(root, [2000])
    assert data.bad_values(dataset, [0, 3]) is None
    found = data.bad_values(dataset, [0, 1])
    assert found.endswith(
        f"2000.h5, time 2, channel {CHANNELS[3]}: 1 value is not finite, in row 4, column 5"
    )


@pytest.mark.parametrize("target", [[1.0, float("nan"), 2.0], [1.0, float("inf"), 2.0]])
def test_a_loss_that_is_no_number_has_no_gradient_that_is_one(target):
    """The mean of |x| has a finite slope where x is none; such a step must not change a weight."""
    weights, target = torch.ones(3, requires_grad=True), torch.tensor(target)
    step = counting(lambda samples, model: (weights, lambda output: ((output - target).abs().mean(), {})))
    output, loss_func = step(None, None)
    loss_func(output)[0].backward()
    assert not weights.grad.isfinite().any()


def test_the_gradient_of_a_loss_is_not_touched():
    weights = torch.randn(5, requires_grad=True)
    output, loss_func = counting(
        lambda samples, model: (weights, lambda output: (output.square().mean(), {}))
    )(None, None)
    loss, count, _ = loss_func(output)
    loss.backward()
    (expected,) = torch.autograd.grad(weights.square().mean(), weights)
    assert count == 1 and torch.equal(weights.grad, expected)


@pytest.fixture
def full_disk():
    """A disk that takes 100 kB of a file."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("size", [20_000, 1_000_000])
def test_what_a_full_disk_does_not_take_is_removed(size, full_disk, tmp_path):
    path = tmp_path / "part.pt"
    content = {"weights": torch.zeros(size), "more": torch.zeros(size)}
    with pytest.raises(OSError, match="File too large"):
        files.write_tensors(path, content)
    assert not path.exists()


def test_a_record_on_a_full_disk_is_one_line(full_disk, tmp_path):
    records = Records(tmp_path, None, 0, 10, resuming=False, log_interval=100)
    (tmp_path / "loss.csv").write_text("x" * 100_000)
    with pytest.raises(UserError, match=r"loss\.csv cannot be written: File too large\. --load goes on"):
        records.add(
            {
                "iteration": 1,
                "consumed_samples": 1,
                "lm loss": 1.0,
                "learning_rate": 1.0,
                "grad_norm": 1.0,
                "seconds": 1.0,
            }
        )


def test_a_file_that_shrinks_is_named(root):
    import h5py

    dataset = ERA5Dataset(root, [2000])
    with h5py.File(root / "data" / "2000.h5", "a") as file:
        fields = file["fields"][:]
        names = file["fields"].attrs["channels"]
        del file["fields"]
        file["fields"] = fields[:3]
        file["fields"].attrs["channels"] = names
    with pytest.raises(UserError, match=r"2000.h5: time 3 cannot be read .*has it shrunk"):
        dataset[2]


class DyingData(torch.utils.data.Dataset):
    """Its loader process is killed, or cannot read."""

    def __init__(self, error):
        self.error = error

    def __len__(self):
        return 3

    def __getitem__(self, index):
        if self.error:
            raise UserError(self.error)
        signal.raise_signal(signal.SIGKILL)


@pytest.mark.parametrize(
    ("error", "message"), [("", r"a loader process died .*Lower --num-workers"), ("no file x", "^no file x$")]
)
def test_what_ends_a_loader_process_is_one_line(error, message):
    flags.parse_args(argv=["--num-workers", "1"])
    with pytest.raises(UserError, match=message) as raised:
        next(data.micro_batches(DyingData(error), [[0]]))
    assert "\n" not in str(raised.value)


def test_validation_beyond_the_data_is_refused():
    args = flags.parse_args(argv=["--eval-interval", "1", "--eval-iters", "9", "--global-batch-size", "2"])

    def provider(samples):
        return (
            torch.utils.data.TensorDataset(torch.zeros(4)),
            torch.utils.data.TensorDataset(torch.zeros(4)),
            None,
        )

    provider.is_distributed = True
    with pytest.raises(UserError, match="--eval-iters 9 wants 18 validation samples and there are 4"):
        data.build_datasets(args, provider)


def test_older_checkpoints_are_read(tmp_path):
    folder = tmp_path / "iter_0000001"
    folder.mkdir()
    layout = {"tensor": 1, "pipeline": 1, "virtual": 1, "stages": 1}
    content = {"format": 1, "iteration": 1, "consumed_samples": 4, "layout": layout, "files": {}}
    (folder / "metadata.json").write_text(json.dumps(content), encoding="utf-8")
    assert files.read_metadata(folder).validation is None


def test_a_port_that_is_in_use_is_named(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        world = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        for name, value in world.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(UserError, match=f"port {port} is in use: set MASTER_PORT to another"):
            process_groups.initialize_process_groups(device="cpu", timeout_minutes=0.1)
