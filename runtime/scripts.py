"""What a training script gives to ``pretrain``, found out by running it up to there."""

import runpy
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from .errors import UserError


@dataclass
class TrainingScript:
    """The arguments of ``pretrain``, and the flags of the script."""

    flags: list[str]
    train_valid_test_dataset_provider: Callable
    model_provider: Callable
    model_type: object
    forward_step_func: Callable
    args_defaults: dict | None = None
    extra_args_provider: Callable | None = None


def read_script(command: Sequence[str]) -> TrainingScript:
    """Run a script up to its call of ``pretrain``.

    Args:
        command: the script and its flags.

    Raises:
        UserError: there is none, or it does not call it.
    """
    from . import training

    script, *flags = command
    if not Path(script).is_file():
        raise UserError(f"no training script {script}")
    calls = []
    original, argv, path = training.pretrain, sys.argv, list(sys.path)
    training.pretrain = lambda *args, **kwargs: calls.append(TrainingScript(flags, *args, **kwargs))
    sys.argv = [script, *flags]
    sys.path.insert(0, str(Path(script).resolve().parent))
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        training.pretrain, sys.argv, sys.path[:] = original, argv, path
    if not calls:
        raise UserError(f"{script} did not call pretrain")
    return calls[0]
