"""Work for the user's code is forked from a process that has not computed, whatever its caller has done."""

import os
import signal
from functools import partial

import pytest
import torch

from onescience_check.runtime.verify import UserError, forkserver, processes

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")


def compute() -> dict:
    torch.set_num_threads(2)
    weight = torch.ones(600, 600, requires_grad=True)
    (weight @ weight).relu().sum().backward()
    return {"gradient": weight.grad[0, 0].item()}


def refuse() -> None:
    raise UserError("not this one")


def test_a_caller_that_has_computed_does_not_make_its_forks_wait():
    # Forked from here, the second would wait for ever on the threads of the first.
    assert compute() == {"gradient": 1200.0}
    [outcome] = forkserver.call(partial(processes.run, limit=60, memory=12), [compute])
    assert outcome.value == {"gradient": 1200.0}


def test_errors_come_back_as_they_are(tmp_path, monkeypatch):
    with pytest.raises(UserError, match="not this one"):
        forkserver.call(refuse)
    monkeypatch.chdir(tmp_path)
    assert forkserver.call(os.getcwd) == str(tmp_path)


def test_a_process_that_dies_is_said_and_the_next_call_works():
    with pytest.raises(RuntimeError, match="ended with status 9"):
        forkserver.call(signal.raise_signal, signal.SIGKILL)
    assert forkserver.call(len, "four") == 4
