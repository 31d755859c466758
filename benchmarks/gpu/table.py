"""The results as tables for people."""

from . import estimate
from .models import LAYOUTS, without_pipeline


def render(result: dict) -> str:
    """Markdown of everything that was measured."""
    parts = [
        "# Reference Pangu-Weather on GPUs\n",
        f"`{result['command']}`, commit {result['commit']}, {result['card']}, torch {result['torch']}, "
        f"{result['date']}, {result['seconds']} s in all\n",
    ]
    if result["failures"]:
        parts.append("Failed: " + "; ".join(result["failures"]) + "\n")
    if result["speed"]:
        parts += _models(result["speed"]["models"])
        parts += _blocks(result["speed"])
    if result.get("scaling"):
        parts += _scaling(result["scaling"])
    if result.get("correctness"):
        parts += _correctness(result["correctness"])
    if result.get("killed"):
        parts += _killed(result["killed"])
    if result.get("curves"):
        curves = result["curves"]
        rows = [
            [
                name,
                f"{row['largest_relative_difference']:.2%}",
                f"{row['mean_relative_difference']:.2%}",
                f"{curves['curves'][name][-1]:.4f}",
            ]
            for name, row in curves.items()
            if name != "curves"
        ]
        parts.append("## Loss over 200 steps, against fp32\n")
        parts.append(_rows(["run", "largest difference", "mean difference", "last loss"], rows))
    return "\n".join(parts)


def _rows(head: list[str], rows: list[list]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


def _models(models: dict) -> list[str]:
    rows = []
    for name, row in models.items():
        against = [f"{models[base]['ms'] / row['ms']:.2f} x" for base in ("public", "public compiled")]
        kernels = [f"{row['kernel_ms']:.1f}", row["kernel_calls"], row["waits of the host"]]
        rows.append(
            [name, f"{row['ms']:.1f}", f"{row['spread']:.1%}", *against, *kernels, f"{row['peak GiB']:.1f}"]
        )
    head = ["whole model", "ms a step", "spread", "against public", "against public compiled"]
    head += ["ms in kernels", "kernels", "waits of the host", "peak GiB"]
    parts = ["## One GPU, full size, one sample, bf16\n", _rows(head, rows)]
    shown = models["reference compiled"]["kernels"][:15]
    rows = [[f"{k['ms']:.2f}", k["calls"], k["kernel"][:60]] for k in shown]
    return [*parts, "Kernels of a step of the compiled reference:\n", _rows(["ms", "calls", "kernel"], rows)]


def _blocks(speed: dict) -> list[str]:
    limits = speed["ceilings"]
    rows = []
    for name, row in speed["blocks"].items():
        styles = ("public", "public compiled", "torch attention", "reference", "reference compiled")
        times = [f"{row[key]:.2f}" for key in styles]
        ceilings = [f"{row[key]:.0%}" for key in ("share_of_matmul_ceiling", "share_of_copy_ceiling")]
        rows.append([name, *times, f"{row['floor_ms']:.2f}", f"{row['tflops']:.0f}", *ceilings])
    head = ["block, forward + backward, ms", "public", "compiled", "torch attention", "reference", "compiled"]
    head += ["floor", "TFLOP/s", "of matmul ceiling", "of copy ceiling"]
    found = f"matmul {limits['matmul_tflops']:.0f} TFLOP/s, copy {limits['copy_tbps']:.2f} TB/s"
    return ["## One block, one sample, bf16\n", f"Ceilings: {found}.\n", _rows(head, rows)]


def _scaling(scaling: dict) -> list[str]:
    rows = []
    for name, ranks in sorted(scaling.items(), key=lambda item: list(LAYOUTS).index(item[0])):
        layout, row = LAYOUTS[name], ranks[0]
        counts = sorted(int(key[3:]) for key in row if key.startswith("ms_"))
        one = scaling.get(f"one{'_wide' if layout.size == 'wide' else ''}")
        base = scaling.get(without_pipeline(layout) or "")
        sending = sum(k["ms"] for k in row["kernels"] if "nccl" in k["kernel"])
        first_of_stage = ranks[:: len(ranks) // layout.pipeline]
        for count in counts:
            time = row[f"ms_{count}"]
            cells = [name, count, f"{time:.0f} ({row[f'spread_{count}']:.1%})"]
            cells.append(f"{_milliseconds(one[0], count) / time:.2f} x" if one else "")
            if layout.pipeline > 1 and base:
                bubble = 1 - _milliseconds(base[0], count) / (layout.pipeline * time)
                steps = count * (layout.chunks or 1)  # (p - 1) / (m + p - 1) in units of a chunk
                ideal = (layout.pipeline - 1) / (steps + layout.pipeline - 1)
                cells += [f"{bubble:.1%} ({ideal:.1%})", f"{(1 - bubble) / (1 - ideal):.1%}"]
            else:
                cells += ["", ""]
            peaks = [rank[f"peak_gib_{count}"] for rank in first_of_stage]
            guesses = [
                estimate.rank_gib(name, n, rank["parameters"]) for n, rank in enumerate(first_of_stage)
            ]
            cells += [" / ".join(f"{value:.1f}" for value in values) for values in (peaks, guesses)]
            profiled = count == (1 if layout.pipeline == 1 else 8) and len(ranks) > 1
            rows.append([*cells, f"{sending:.0f} of {row['kernel_ms']:.0f}" if profiled else ""])
    head = [
        "layout",
        "micro-batches",
        "ms a step (spread)",
        "against one GPU",
        "idle share (bubble)",
        "of what it allows",
        "peak GiB of each stage",
        "estimate",
        "ms in NCCL's kernels, of all",
    ]
    parts = ["## Several GPUs, compiled\n", _rows(head, rows)]
    sent = next(
        (ranks[0]["boundary_bytes"] for ranks in scaling.values() if "boundary_bytes" in ranks[0]), None
    )
    if sent:
        parts.append(f"A boundary carries {sent / 1e6:.0f} MB each way per micro-batch.\n")
    rate = next((ranks[0]["all_reduce"] for ranks in scaling.values() if ranks[0].get("all_reduce")), None)
    if rate:
        parts.append(
            f"All-reduce of one fine activation: {rate['ms']:.2f} ms, {rate['gigabytes_per_second']:.0f} GB/s.\n"
        )
    return parts


def _milliseconds(row: dict, count: int) -> float:
    """Of a step of so many micro-batches: measured, or as the largest number that was."""
    if f"ms_{count}" in row:
        return row[f"ms_{count}"]
    most = max(int(key[3:]) for key in row if key.startswith("ms_"))
    return row[f"ms_{most}"] * count / most


def _correctness(rows: list[dict]) -> list[str]:
    lines = [
        [
            row.get("size", "small"),
            f"{row['tp']} x {row['wp']} x {row['pp']}, {row['chunks']}",
            row["dtype"] + (", compiled" if row["compiled"] else ""),
            row["backend"] + (", through host" if row["host_staged"] else ""),
            f"{row['worst_error_over_allowed']:.2f}",
            f"{row['largest_loss_error_in_20_steps']:.1e}",
            "yes" if row["passed"] else "NO",
        ]
        for row in rows
    ]
    head = [
        "size",
        "tp x windows x pp, chunks per rank",
        "dtype",
        "backend",
        "worst error / allowed",
        "loss, 20 steps",
        "passed",
    ]
    return ["## Parallel against plain\n", _rows(head, lines)]


def _killed(row: dict) -> list[str]:
    said = row["message"].replace("`", "'")
    return [
        "## A rank is killed\n",
        f"{row['ranks']} ranks, tp {row['tp']} x pp {row['pp']}: rank {row['victim']} was killed after iteration "
        f"{row['iteration']}; {row['seconds']:.1f} s later all had ended, the launcher with status "
        f"{row['status']}: `{said}`. "
        f"Resumed from iteration {row['resumed_from']}, {'the same losses' if row['same_losses'] else 'OTHER LOSSES'} "
        f"to the last digit as in one go, {row['iterations']} iterations.\n",
    ]
