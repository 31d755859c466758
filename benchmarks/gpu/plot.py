"""Draw the step times of a result file: ``python -m benchmarks.gpu.plot RESULT.json TARGET.png``."""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

STYLES = ("public", "public compiled", "reference", "reference compiled")


def main(source: Path, target: Path) -> None:
    result = json.loads(source.read_text())
    speed, scaling = result["speed"], result["scaling"]
    figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(13, 4), layout="constrained")
    bars = left.bar(STYLES, [speed["models"][style]["ms"] for style in STYLES])
    left.bar_label(bars, fmt="%.0f")
    left.set(title="One GPU, full size: a step", ylabel="ms")
    left.margins(y=0.1)
    left.tick_params(axis="x", rotation=20)
    for place, style in enumerate((*STYLES, "floor_ms")):
        times = [row[style] for row in speed["blocks"].values()]
        middle.bar(
            [x + 0.16 * place for x in range(len(times))], times, 0.15, label=style.removesuffix("_ms")
        )
    middle.set_xticks([x + 0.32 for x in range(len(speed["blocks"]))], list(speed["blocks"]), fontsize=8)
    middle.set(title="One block, forward + backward", ylabel="ms")
    middle.legend(fontsize=8)
    names = [name for name in ("one", "tp2", "wp2", "pp2", "pp2_interleaved") if name in scaling]
    bars = right.bar(names, [scaling[name][0]["ms_8"] for name in names])
    right.bar_label(bars, fmt="%.0f")
    right.set(title="Stages, 8 micro-batches", ylabel="ms")
    right.margins(y=0.1)
    right.tick_params(axis="x", rotation=20, labelsize=8)
    figure.suptitle(f"{result['card']}, bf16, commit {result['commit'][:9]}")
    figure.savefig(target, dpi=110)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
