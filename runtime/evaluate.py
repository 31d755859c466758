"""Score forecasts of a trained model over its test years, and write or draw them.

    python -m onescience_check.runtime.evaluate runs/pangu runs/pangu/evaluation --steps 4 \\
        --forecast runs/pangu/evaluation/forecast.nc --maps 2m_temperature --script train.py [flags of train.py]

Weights come from a folder of checkpoints, of any layout, or from a plain state dict (.pt). The script, plain or
distributed, tells the model and the data; one process then holds the whole model, on a GPU where there is one.

The folder gets scores.csv and scores.png: latitude-weighted RMSE, in the units of the data, and anomaly correlation
(ACC) against the mean of the training years, for each channel and lead. With --steps above 1 each forecast is the
input of the next; what the model does not predict, such as wind over an ocean, is taken from the data.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tqdm import tqdm

from .errors import UserError
from .language import local

SHOWN = 6  # channels on the terminal and in the plot


def main(argv: Sequence[str] | None = None) -> int:
    """Evaluate as the command line says; 0 if done, 1 with a message if not."""
    description, rest = __doc__.split("\n\n", 1)
    parser = argparse.ArgumentParser(
        prog="python -m onescience_check.runtime.evaluate",
        description=description,
        epilog=rest,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("weights", type=Path, help="folder of checkpoints, or plain .pt file")
    parser.add_argument("out", type=Path, help="folder for the results")
    parser.add_argument(
        "--steps", type=int, default=1, help="forecast steps, each from the one before (default: 1)"
    )
    parser.add_argument("--every", type=int, default=1, help="start from every n-th time of the test years")
    parser.add_argument(
        "--channels", nargs="+", help=f"channels to print and plot (default: the first {SHOWN})"
    )
    parser.add_argument("--forecast", type=Path, help="write the forecast from the first time: .nc or .zarr")
    parser.add_argument("--maps", nargs="+", default=[], metavar="CHANNEL", help="draw the last step of it")
    parser.add_argument(
        "--climatology-times", type=int, default=200, help="training times in the mean for ACC (default: 200)"
    )
    parser.add_argument(
        "--script", nargs=argparse.REMAINDER, required=True, help="training script and its flags; comes last"
    )
    options = parser.parse_args(argv)
    try:
        evaluate(options)
    except (UserError, OSError) as error:
        print(local(f"error: {error}"), file=sys.stderr)
        return 1
    return 0


def evaluate(options: argparse.Namespace) -> None:
    """Score, write and draw what `options` ask for.

    Raises:
        UserError: weights, script, data or names do not fit together.
    """
    from .evaluation.pictures import draw_map, plot_scores, write_forecast
    from .evaluation.rollout import climatology, rollout
    from .evaluation.scores import Scores, write_table
    from .process_groups import destroy_process_groups

    if min(options.steps, options.every, options.climatology_times) < 1 or not options.script:
        raise UserError(
            "--steps, --every and --climatology-times must be 1 or more, and --script names a script"
        )
    model, device, train_data, test_data = _load(options)
    try:
        channels = list(test_data.target_channels)
        shown = options.channels or channels[:SHOWN]
        if unknown := [name for name in [*shown, *options.maps] if name not in channels]:
            raise UserError(f"no channel {unknown[0]}: there are {', '.join(channels[:SHOWN])} ...")
        starts = test_data.starts(options.steps)[:: options.every]
        if not starts:
            raise UserError(
                f"no test year has {options.steps} steps of {test_data.lead} times: lower --steps"
            )
        options.out.mkdir(parents=True, exist_ok=True)
        means, stds = test_data.target_statistics
        scores = Scores(
            options.steps,
            climatology(train_data, options.climatology_times),
            test_data.latitudes,
            test_data.valid,
        )
        first = []
        for start in tqdm(starts, unit="forecast", disable=not sys.stderr.isatty()):
            for lead, pair in enumerate(rollout(model, test_data, start, options.steps, device)):
                scores.add(lead, *pair)
                if start == starts[0]:
                    first.append([state * stds + means for state in pair])
    finally:
        destroy_process_groups()
    leads = [(step + 1) * test_data.lead for step in range(options.steps)]
    write_table(options.out / "scores.csv", channels, test_data.lead, scores.rmse * stds[:, 0, 0], scores.acc)
    columns = [channels.index(name) for name in shown]
    plot_scores(options.out / "scores.png", shown, leads, scores.rmse[:, columns], scores.acc[:, columns])
    place = f"{starts[0][0]}, time {starts[0][1]}"
    if options.forecast is not None:
        forecasts = np.stack([forecast for forecast, _ in first]).astype(np.float32)
        write_forecast(options.forecast, forecasts, channels, leads, test_data.latitudes, place)
    for name in options.maps:
        forecast, truth = (state[channels.index(name)] for state in first[-1])
        title = f"{name}, {leads[-1]} times after {place}"
        path = options.out / f"{name}_{leads[-1]}.png"
        draw_map(path, title, forecast, truth, test_data.latitudes, test_data.valid)
    table = options.out / "scores.csv"
    print(local(f"{len(starts)} forecasts of {options.steps} steps; all scores are in {table}"))
    for name, column in zip(shown, columns, strict=True):
        rmse, acc = scores.rmse[:, column] * stds[column, 0, 0], scores.acc[:, column]
        print(local(f"  {name}: RMSE {rmse[0]:.4g} to {rmse[-1]:.4g}, ACC {acc[0]:.3f} to {acc[-1]:.3f}"))


def _load(options: argparse.Namespace) -> tuple:
    """Model, its device, training and test data."""
    from .checkpoint.resume import load_weights
    from .fields import YearlyFields
    from .flags import parse_args
    from .pipeline.build import build_chunks
    from .process_groups import initialize_process_groups
    from .scripts import read_script

    script = read_script(options.script)
    args = parse_args(script.args_defaults, script.extra_args_provider, script.flags)
    args.tensor_model_parallel_size = args.pipeline_model_parallel_size = args.window_parallel_size = 1
    args.num_virtual_stages_per_pipeline_rank, args.micro_batch_size = None, 1
    train_data, _, test_data = script.train_valid_test_dataset_provider([0, 0, 0])
    if not isinstance(test_data, YearlyFields) or not isinstance(train_data, YearlyFields):
        raise UserError("training and test data must be a YearlyFields: it tells channels, places and inputs")
    device = initialize_process_groups(device=args.device).device
    (chunk,) = (chunk.to(device).eval() for chunk in build_chunks(script.model_provider, script.model_type))
    load_weights(options.weights, [chunk])
    return chunk, device, train_data, test_data


if __name__ == "__main__":
    sys.exit(main())
