"""One rank fails: all stop, soon, with one message."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import worlds

SCRIPT = Path(__file__).with_name("toy_train.py")
ENDLESS = ["--pipeline-model-parallel-size", "3", "--train-iters", "1000000", "--global-batch-size", "2"]


def test_launcher_names_the_rank_that_was_killed(tmp_path):
    process = worlds.start(SCRIPT, 3, *ENDLESS, "--log-dir", tmp_path)
    worlds.wait_for((tmp_path / "loss.csv").exists, process)
    os.kill(worlds.ranks(process)[1], signal.SIGKILL)
    ended = worlds.finish(process, limit=60)
    assert ended.code == 1
    assert "rank 1" in ended.output and "SIGKILL" in ended.output
    assert "Traceback" not in ended.output


def test_a_loader_process_that_is_killed_is_one_line_wherever_the_ranks_are(tmp_path):
    """Torch raises it from a handler of SIGCHLD: in a collective, too."""
    flags = ["--tensor-model-parallel-size", "2", "--train-iters", "1000000", "--num-workers", "1"]
    process = worlds.start(SCRIPT, 2, *flags, "--log-dir", tmp_path)
    worlds.wait_for((tmp_path / "loss.csv").exists, process)
    rank = worlds.ranks(process)[1]
    loader = int(Path(f"/proc/{rank}/task/{rank}/children").read_text().split()[-1])
    os.kill(loader, signal.SIGKILL)
    ended = worlds.finish(process, limit=120)
    assert ended.code == 1 and "Traceback" not in ended.output
    assert "error (rank 1): a loader process died (DataLoader worker (pid" in ended.output


@pytest.mark.parametrize(
    ("victim", "sent", "named"),
    [
        (1, signal.SIGKILL, "rank 1"),
        (2, signal.SIGSTOP, "rank 2"),
        (0, signal.SIGKILL, "rank 0"),
    ],
)
def test_ranks_notice_a_dead_or_hanging_rank_without_a_launcher(tmp_path, victim, sent, named):
    world = {"WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(worlds.free_port())}
    command = [sys.executable, str(SCRIPT), *ENDLESS, "--log-dir", str(tmp_path)]
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    ranks = [
        worlds.open_process(command, {**world, "RANK": str(rank), "LOCAL_RANK": str(rank)}, **streams)
        for rank in range(3)
    ]
    worlds.wait_for((tmp_path / "loss.csv").exists, *ranks)
    ranks[victim].send_signal(sent)
    struck = time.monotonic()
    survivors = [rank for number, rank in enumerate(ranks) if number != victim]
    outputs = [rank.communicate(timeout=60)[1] for rank in survivors]
    assert time.monotonic() - struck < 60
    assert all(rank.returncode == 1 for rank in survivors)
    assert "".join(outputs).count(named) == 1, outputs
    assert not any("Traceback" in output for output in outputs), outputs


@pytest.mark.parametrize(
    ("size", "flags", "message"),
    [
        (3, ["--tensor-model-parallel-size", "2"], "3 processes cannot be split"),
        (2, ["--pipeline-model-parallel-size", "2", "--toy-tokens", "7"], "stage_shapes"),
        (2, ["--no-such-flag", "1"], "--no-such-flag"),
        (2, ["--global-batch-size", "3"], "--global-batch-size 3"),
        (2, ["--lr", "1e30", "--clip-grad", "0", "--train-iters", "30"], "Lower --lr"),
        (2, ["--load", "nowhere"], "no checkpoint in nowhere"),
    ],
)
def test_bad_input_gives_one_message_and_no_traceback(size, flags, message):
    ended = worlds.run(SCRIPT, size, *flags)
    assert ended.code == 1
    errors = [line for line in ended.output.splitlines() if line.startswith("error")]
    assert len(errors) == 1 and message in errors[0], ended.output[-3000:]
    assert "Traceback" not in ended.output


def test_fault_in_a_script_is_shown_with_its_traceback_once(tmp_path):
    script = tmp_path / "broken.py"
    text = SCRIPT.read_text(encoding="utf-8").replace("mse_loss(output, outvar)", "mse_loss(output, missing)")
    script.write_text(text, encoding="utf-8")
    ended = worlds.run(script, 2, "--pipeline-model-parallel-size", "2")
    assert ended.code == 1
    assert ended.output.count("NameError: name 'missing' is not defined") == 1
