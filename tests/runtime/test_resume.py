"""A run that is killed at any moment goes on to the same loss curve."""

import csv
import re
from pathlib import Path

import pytest

from tests import worlds

SCRIPT = Path(__file__).with_name("toy_train.py")
LAYOUT = ["--tensor-model-parallel-size", 1, "--pipeline-model-parallel-size", 2]
TRAIN = ["--train-iters", 14, "--global-batch-size", 4, "--toy-dropout", 0.2, "--lr-warmup-iters", 3]
TRAIN += ["--recompute-granularity", "full", "--eval-interval", 4]


def folders(root: Path) -> list:
    """Flags that keep a run in one folder, resuming if there is something."""
    return ["--save", root / "save", "--load", root / "save", "--log-dir", root, "--save-interval", 3]


def curve(root: Path) -> list[tuple[str, ...]]:
    """What must be the same to the last digit."""
    with open(root / "loss.csv", newline="", encoding="utf-8") as file:
        names = (
            "iteration",
            "lm loss",
            "validation lm loss",
            "grad_norm",
            "learning_rate",
            "consumed_samples",
        )
        return [tuple(row[name] for name in names) for row in csv.DictReader(file)]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """The curve of a run that nobody disturbs."""
    root = tmp_path_factory.mktemp("uninterrupted")
    ended = worlds.run(SCRIPT, 2, *LAYOUT, *TRAIN, *folders(root))
    assert ended.code == 0, ended.output[-3000:]
    assert (root / "loss.png").read_bytes().startswith(b"\x89PNG")
    assert len(curve(root)) == 14
    return curve(root)


def test_killed_while_writing_a_checkpoint_and_terminated_between_two(uninterrupted, tmp_path):
    flags = [*LAYOUT, *TRAIN, *folders(tmp_path)]
    process = worlds.start(SCRIPT, 2, *flags)
    draft = tmp_path / "save" / ".iter_0000006.incomplete"
    worlds.wait_for(draft.exists, process, pause=0.0005)  # it is there for milliseconds
    worlds.kill(process)
    process.communicate()
    assert re.fullmatch(r"iter_000000[36]", max(path.name for path in (tmp_path / "save").glob("iter_*")))

    process = worlds.start(SCRIPT, 2, *flags)
    worlds.wait_for(lambda: len(curve(tmp_path)) >= 7, process)
    process.terminate()  # the launcher alone, which passes it on
    stopped = worlds.finish(process, limit=60)
    assert stopped.code == 0, stopped.output[-3000:]
    done = re.search(r"stopped after iteration (\d+) by SIGTERM: go on with --load", stopped.output)[1]
    assert (tmp_path / "save" / f"iter_{int(done):07d}").is_dir() and len(curve(tmp_path)) == int(done)

    ended = worlds.run(SCRIPT, 2, *flags)
    assert ended.code == 0, ended.output[-3000:]
    assert curve(tmp_path) == uninterrupted
    assert not list((tmp_path / "save").glob(".*.incomplete")), "what the killed run left half done is gone"


def test_killed_before_the_first_checkpoint(uninterrupted, tmp_path):
    flags = [*LAYOUT, *TRAIN, *folders(tmp_path)]
    process = worlds.start(SCRIPT, 2, *flags)
    worlds.wait_for((tmp_path / "loss.csv").exists, process)
    worlds.kill(process)
    process.communicate()
    ended = worlds.run(SCRIPT, 2, *flags)
    assert ended.code == 0, ended.output[-3000:]
    assert curve(tmp_path) == uninterrupted
