"""Processes for the user's code end: by themselves, by their limit, or with the command."""

import os
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest

from onescience_check.runtime.verify import processes

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")


def endless() -> dict:
    while True:
        time.sleep(0.01)


def dies() -> dict:
    os.kill(os.getpid(), 9)
    return {}


def fails() -> dict:
    raise RuntimeError("of its own")


def greedy() -> dict:
    return {"size": len(bytearray(3 * 2**30))}


def leaves_a_child() -> dict:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    return {"child": child.pid}


def quick() -> dict:
    print("nobody reads this")
    return {"answer": 42}


def is_alive(pid: int) -> bool:
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def test_a_result_comes_back_and_nothing_is_printed(capfd):
    [outcome] = processes.run([quick], limit=10, memory=4)
    assert outcome.value == {"answer": 42}
    assert "nobody" not in capfd.readouterr().out


def test_an_endless_loop_ends_and_says_where():
    started = time.monotonic()
    [outcome] = processes.run([endless], limit=1, memory=4)
    assert time.monotonic() - started < 5
    assert "did not end within 1 s" in outcome.death
    assert any(
        Path(path).name == "test_processes.py" and name == "endless" for path, _, name in outcome.stack
    )


def test_a_killed_process_is_named():
    [outcome] = processes.run([dies], limit=10, memory=4)
    assert "killed by SIGKILL" in outcome.death
    assert outcome.stack[0][2] == "dies"


def test_an_error_of_the_verification_itself_keeps_its_traceback():
    [outcome] = processes.run([fails], limit=10, memory=4)
    assert "RuntimeError: of its own" in outcome.error


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
def test_a_process_that_takes_too_much_memory_is_stopped():
    [outcome] = processes.run([greedy], limit=30, memory=1)
    assert "MemoryError" in outcome.error


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_process_is_left_behind():
    [outcome] = processes.run([leaves_a_child], limit=10, memory=4)
    deadline = time.monotonic() + 5
    while is_alive(outcome.value["child"]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_alive(outcome.value["child"])


def test_a_world_ends_with_the_rank_that_fails():
    started = time.monotonic()
    outcomes = processes.run([dies, endless], limit=60, memory=4, together=True)
    assert time.monotonic() - started < 20
    assert "SIGKILL" in outcomes[0].death
    assert outcomes[1].death == "waits for a rank that failed"


def test_a_rank_that_saves_starts_no_process_for_it():
    pytest.importorskip("torch")
    from onescience_check.runtime.verify.saving import writing_here

    def start_process():
        raise AssertionError("a process is started")

    writer = type(
        "FileSystemWriterAsync", (), {"write_preloaded_data_multiproc": staticmethod(start_process)}
    )
    module = types.SimpleNamespace(FileSystemWriterAsync=writer, _get_write_results_queue=start_process)
    with writing_here(module):
        results = module._get_write_results_queue()
        writer.write_preloaded_data_multiproc([], False, 0, [], results)
        assert results.get_nowait() == {}
    assert module._get_write_results_queue is start_process
