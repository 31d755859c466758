"""What the script's dataset provider returns, where its data can be reached."""

from __future__ import annotations

import hashlib
import os
import pickle
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch.utils.data import DataLoader

from ..errors import UserError
from ..process_groups import pipeline_rank
from . import tree
from .plan import Plan
from .results import Finding
from .script import Script
from .tracking import Tracker, shown

_ABSENT = ("no such file", "does not exist", "not found", "no files", "cannot read", "no data")


@dataclass
class Looked:
    """What the provider shows on one rank.

    Args:
        findings: faults.
        notes: what could not be looked at.
        sample: digest of the first training sample, "" where it was not read.
        place: of the provider.
    """

    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    sample: str = ""
    place: tuple[str, int] = ("", 0)


def unseeded() -> None:
    """Start the random streams anywhere, as a process of its own would: forks would start alike."""
    random.seed(os.getpid())
    np.random.seed(os.getpid() % 2**32)


def look(plan: Plan, script: Script, tracker: Tracker, rank: int, count: int) -> Looked:
    """Call the provider on the first and the last stage, and read one sample."""
    looked = Looked()
    provider = script.given.get("train_valid_test_dataset_provider")
    if provider is None:
        return looked
    code = getattr(provider, "__code__", None)
    if code is not None:
        looked.place = (shown(code.co_filename), code.co_firstlineno)
    else:
        looked.place = (shown(plan.script), 1)
    for number in sorted({0, count - 1}, reverse=True):
        tracker.reset()
        try:
            with pipeline_rank(number, count):
                made = provider([4, 4, 4])
                problem = _problem(made)
                sample = made[0][0] if number == 0 and not problem else None
        except (FileNotFoundError, tree.MissingModuleError, KeyError) as error:
            looked.notes.append(f"the data sets: {type(error).__name__}: {error}")
            return looked
        except Exception as error:
            _failed(looked, error, tracker, rank)
            return looked
        if problem:
            message = f"on stage {number} {problem[0]}"
            looked.findings.append(
                Finding("data", message, number, (rank,), "", "", "", *looked.place, problem[1])
            )
            return looked
        if sample is not None:
            looked.place = _read_at(made[0], tracker) or looked.place
            looked.sample = hashlib.sha256(pickle.dumps(_plain(sample))).hexdigest()
    return looked


def _read_at(data: object, tracker: Tracker) -> tuple[str, int] | None:
    """Where the user's data set reads a sample."""
    code = getattr(getattr(type(data), "__getitem__", None), "__code__", None)
    if code is None or not tracker.owns(code.co_filename):
        return None
    return shown(code.co_filename), code.co_firstlineno


def _failed(looked: Looked, error: Exception, tracker: Tracker, rank: int) -> None:
    text = str(error)
    if any(words in text.lower() for words in _ABSENT):
        looked.notes.append(f"the data sets: {text}")
        return
    found = tracker.failure(error, "data", None, rank)
    if isinstance(error, UserError) and not found.path:
        found = Finding("data", text, None, (rank,), "", "", "", *looked.place)
    looked.findings.append(found)


def _problem(made: object) -> tuple[str, str] | None:
    """What is wrong with the three data sets, and the rule that says so."""
    if not isinstance(made, Sequence) or len(made) != 3:
        return "the provider does not return (training, validation, test) data", "provider-returns-dataloader"
    if isinstance(made[0], DataLoader):
        return "the provider returns a DataLoader: return the Dataset", "provider-returns-dataloader"
    if made[0] is None:
        return "the provider returns no training data, which this stage needs", "none-on-some-ranks"
    return None


def _plain(value: object) -> object:
    """A sample without torch's containers, so that equal samples are equal bytes."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    if isinstance(value, dict):
        return [(key, _plain(item)) for key, item in value.items()]
    return [_plain(item) for item in value] if isinstance(value, tuple | list) else repr(value)
