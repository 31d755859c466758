"""The record of a run: progress on the terminal, loss.csv, TensorBoard, loss.png."""

import csv
import math
import os
import statistics
import sys
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from tqdm import tqdm

from ..errors import UserError
from ..language import local

_FIRST = ["iteration", "consumed_samples"]
_LAST = ["learning_rate", "grad_norm", "seconds"]
VALIDATION = "validation "
_SPIKE, _RECENT, _FEWEST = (
    2.0,
    50,
    10,
)  # so many times the median of recent losses, of which there must be some


class Records:
    """Written by one rank only.

    Numbers in loss.csv are the shortest that read back exactly. When a run resumes at an iteration, rows
    after it, from the part of the earlier run that is done again, are dropped. The row of that iteration is in its
    checkpoint: where it was cut short in loss.csv, it is written anew.

    Args:
        log_dir: folder for loss.csv and loss.png, None for neither.
        tensorboard_dir: folder for events, None for none.
        start: iterations done before.
        total: iterations of the whole run.
        resuming: rows of an earlier run are this run's own.
        log_interval: iterations per line, where there is no terminal for a progress bar.
        last_row: what was recorded of the iteration `start`, None if unknown.
    """

    def __init__(
        self,
        log_dir: str | None,
        tensorboard_dir: str | None,
        start: int,
        total: int,
        resuming: bool,
        log_interval: int,
        last_row: dict[str, float] | None = None,
    ) -> None:
        self.csv_path = self.plot_path = self.events = None
        self.log_interval = log_interval
        if log_dir is not None:
            try:
                Path(log_dir).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise UserError(f"--log-dir {log_dir}: {error.strerror}") from error
            self.csv_path, self.plot_path = Path(log_dir, "loss.csv"), Path(log_dir, "loss.png")
            self._keep_rows_until(start, resuming, last_row)
        if tensorboard_dir is not None:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError:
                raise UserError(
                    "--tensorboard-dir needs the package tensorboard: pip install tensorboard"
                ) from None
            self.events = SummaryWriter(tensorboard_dir, purge_step=start + 1)
        self.took: deque[float] = deque(maxlen=_RECENT)
        self.recent: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=_RECENT))
        self.bar = tqdm(total=total, initial=start, unit="step", disable=not sys.stderr.isatty())

    def add(self, row: dict[str, float]) -> None:
        """Record one iteration; ``row`` has iteration, consumed_samples, losses, learning_rate, grad_norm,
        seconds.
        """
        iteration, losses = row["iteration"], _losses(row)
        if self.csv_path is not None:
            self._append(row)
        if self.events is not None:
            for name in [*losses, *_LAST]:
                self.events.add_scalar(name, row[name], iteration)
        self.bar.set_postfix_str(", ".join(f"{name} {value:.4g}" for name, value in losses.items()))
        self.bar.update()
        self.took.append(row["seconds"])
        if self.bar.disable and iteration % self.log_interval == 0:
            shown = ", ".join(f"{name} {row[name]:.4g}" for name in [*losses, *_LAST])
            step = statistics.median(self.took)
            speed = (row["consumed_samples"] / iteration) / step
            left = timedelta(seconds=round(step * (self.bar.total - iteration)))
            line = f"iteration {iteration}/{self.bar.total}: {shown}, {speed:.3g} samples/s, {left} left"
            print(local(line), flush=True)
        for name, value in losses.items():
            if not name.startswith(VALIDATION):
                self._compare(iteration, name, value)

    def _compare(self, iteration: int, name: str, value: float) -> None:
        """Say when a loss is far above those before it."""
        recent = self.recent[name]
        usual = statistics.median(recent) if len(recent) >= _FEWEST else math.inf
        if 0 < _SPIKE * usual < value:
            line = (
                f"warning: iteration {iteration}: {name} {value:.4g} is {value / usual:.1f} times the median of "
                f"the {len(recent)} before: look at the data of this step, or lower --lr"
            )
            self.bar.write(local(line), file=sys.stderr)
        if math.isfinite(value):
            recent.append(value)

    def plot(self) -> None:
        """Draw loss.png from loss.csv."""
        if self.plot_path is None or not self.csv_path.exists():
            return
        from matplotlib.figure import Figure

        rows = _read(self.csv_path)
        figure = Figure(figsize=(7, 4), layout="constrained")
        axes = figure.subplots()
        losses = [name for name in rows[0] if name not in _FIRST + _LAST] if rows else []
        for name in losses:
            points = [(int(row["iteration"]), float(row[name])) for row in rows if row[name]]
            if points:
                axes.plot(*zip(*points, strict=True), label=name, marker="." if len(points) < 50 else None)
        if losses and all(float(row[name]) > 0 for row in rows for name in losses if row[name]):
            axes.set_yscale("log")
        axes.set(xlabel="iteration", ylabel="loss")
        axes.grid(alpha=0.3)
        if losses:
            axes.legend()
        with _written(self.plot_path):
            figure.savefig(self.plot_path, dpi=120)

    def close(self) -> None:
        """Finish the progress bar and the events."""
        self.bar.close()
        if self.events is not None:
            self.events.close()

    def _append(self, row: dict[str, float]) -> None:
        losses = _losses(row)
        trained = [name for name in losses if not name.startswith(VALIDATION)]
        columns = [*_FIRST, *trained, *(VALIDATION + name for name in trained), *_LAST]
        fresh = not self.csv_path.exists()
        with _written(self.csv_path), open(self.csv_path, "a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns, extrasaction="ignore")
            if fresh:
                writer.writeheader()
            writer.writerow({name: value for name, value in row.items() if not _is_nan(value)})

    def _keep_rows_until(self, iteration: int, resuming: bool, last_row: dict | None) -> None:
        if not self.csv_path.exists():
            return
        if not resuming:
            raise UserError(
                f"{self.csv_path} exists and is left alone: choose another --log-dir, or --load the run"
            )
        rows = [row for row in _read(self.csv_path) if int(row["iteration"]) <= iteration]
        draft = self.csv_path.with_suffix(".draft")
        with _written(draft), open(draft, "w", newline="", encoding="utf-8") as file:
            if rows:
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
        os.replace(draft, self.csv_path)
        if not rows:
            self.csv_path.unlink()
        done = int(rows[-1]["iteration"]) if rows else 0
        lost = [done + 1, iteration] if last_row is None else [done + 1, iteration - 1]
        if lost[0] <= lost[1]:
            which = (
                f"iterations {lost[0]} to {lost[1]} are" if lost[0] < lost[1] else f"iteration {lost[0]} is"
            )
            print(
                local(f"warning: {self.csv_path} was cut short: {which} missing in it"),
                file=sys.stderr,
            )
        if done < iteration and last_row is not None:
            self._append(last_row)


@contextmanager
def _written(path: Path) -> Iterator[None]:
    """Say in one line that a file cannot be written, as on a full disk."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{path} cannot be written: {error.strerror or error}. --load goes on from the last checkpoint"
        ) from error


def _read(path: Path) -> list[dict[str, str]]:
    """The rows of a loss.csv, but for a last one that was cut short by a kill.

    Raises:
        UserError: it is none.
    """
    try:
        text = path.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        rows = list(csv.DictReader(whole.splitlines(keepends=True), strict=True))
        for row in rows:
            if None in row or None in row.values():
                raise ValueError(f"a row has not as many values as the header: {list(row.values())}")
            int(row["iteration"])
            for value in row.values():
                float(value or 0)
    except (ValueError, KeyError, csv.Error) as error:
        raise UserError(
            f"{path} is not the record of a run ({error}): it is left alone; move it away, or choose another --log-dir"
        ) from None
    return rows


def _losses(row: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in row.items() if name not in _FIRST + _LAST}


def _is_nan(value: float) -> bool:
    return isinstance(value, float) and math.isnan(value)
