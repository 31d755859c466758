"""Megatron's ``pretrain``: from the flags of the command line to a trained model."""

import argparse
from collections.abc import Callable

from ..failure import stop_world_on_error
from ..flags import parse_args
from ..process_groups import destroy_process_groups, initialize_process_groups, wait_for_all
from .data import build_datasets
from .folders import claim_folders
from .trainer import Trainer


def pretrain(
    train_valid_test_dataset_provider: Callable,
    model_provider: Callable,
    model_type,
    forward_step_func: Callable,
    args_defaults: dict | None = None,
    extra_args_provider: Callable[[argparse.ArgumentParser], argparse.ArgumentParser] | None = None,
) -> None:
    """Train a staged model, or a plain one on each rank, by the flags of the command line.

    On any error every rank leaves with status 1, after one message; see `failure`.

    Args:
        train_valid_test_dataset_provider: takes the numbers of training, validation and test samples that the
            run will draw, returns three Datasets (the last two may be None). Must have ``is_distributed =
            True``: every rank builds them.
        model_provider: builds the stage of this pipeline rank and sets
            ``get_args().pipeline_tensor_shape_config``.
        model_type: passed on to the schedule; None will do.
        forward_step_func: ``(data_iterator, model) -> (output, loss_func)``.
        args_defaults: other defaults of flags, by name with underscores.
        extra_args_provider: adds the script's own flags.
    """
    with stop_world_on_error() as guard:
        args = parse_args(args_defaults, extra_args_provider)
        world = initialize_process_groups(
            args.tensor_model_parallel_size,
            args.pipeline_model_parallel_size,
            args.num_virtual_stages_per_pipeline_rank,
            args.device,
            args.distributed_backend,
            args.distributed_timeout_minutes,
            args.seed,
            args.window_parallel_size,
        )
        watch = guard.start_watch(world.rank, world.size)
        claimed = claim_folders(args) if world.rank == 0 else []
        trainer = Trainer(args, world, watch, model_provider, model_type, forward_step_func)
        trainer.train(*build_datasets(args, train_valid_test_dataset_provider))
        wait_for_all()
        for lock in claimed:
            lock.close()
    destroy_process_groups()
