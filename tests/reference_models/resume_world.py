"""Train both models in small, undisturbed and interrupted, and score their forecasts; each in a forked process.

Run by test_resume. Prints how each run ended: its name, then its exit status.
"""

import os
import runpy
import signal
import sys
from pathlib import Path

from onescience_check.runtime import evaluate
from onescience_check.runtime.training import records

EXAMPLES = Path(__file__).parents[2] / "reference_models" / "examples" / "earth"
CHANNELS = {"pangu_weather": "2m_temperature", "xihe": "sea_surface_temperature"}
TRAIN = ["--device", "cpu", "--train-iters", "6", "--global-batch-size", "2", "--save-interval", "2"]


def train(name: str, model: str, config: Path, stop: tuple[int, int] | None = None) -> None:
    """One run in a process of its own, which gets the signal ``stop[1]`` after iteration ``stop[0]``."""

    def run():
        if stop is not None:
            _signal_after(*stop)
        folder = config.parent / name
        script = EXAMPLES / f"{model}_distributed_4stage" / "train.py"
        sys.argv = [str(script), "--config", str(config), *TRAIN]
        sys.argv += ["--save", str(folder), "--load", str(folder), "--log-dir", str(folder)]
        runpy.run_path(str(script), run_name="__main__")
        return 0

    _in_a_process(name, run)


def score(name: str, script: Path, config: Path) -> None:
    """Score a trained model by the command that users type."""
    folder = config.parent / name
    written = ["--forecast", str(folder / "forecast.nc"), "--maps", CHANNELS[config.stem]]
    words = [str(folder), str(folder / "evaluation"), "--steps", "2", *written]
    words += ["--channels", CHANNELS[config.stem], "--script", str(script), "--config", str(config)]
    _in_a_process(f"{name}_scored", lambda: evaluate.main([*words, "--device", "cpu"]))


def _in_a_process(name: str, run) -> None:
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = run()
            sys.stdout.flush()
        finally:
            os._exit(code)
    print(name, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _signal_after(iteration: int, number: int) -> None:
    add = records.Records.add

    def add_and_signal(self, row):
        add(self, row)
        if row["iteration"] == iteration:
            os.kill(os.getpid(), number)

    records.Records.add = add_and_signal


if __name__ == "__main__":
    records.Records.plot = lambda self: None  # it would take longer than the training
    for model in ("pangu_weather", "xihe"):
        config = Path(sys.argv[1], f"{model}.yaml")
        train(f"{model}_undisturbed", model, config)
        train(f"{model}_disturbed", model, config, (1, signal.SIGTERM))
        train(f"{model}_disturbed", model, config, (5, signal.SIGKILL))
        train(f"{model}_disturbed", model, config)
        folder = (
            f"{model}_distributed_4stage" if model == "xihe" else model
        )  # the plain script will do as well
        score(f"{model}_undisturbed", EXAMPLES / folder / "train.py", config)
