"""Training of a plain model by the same loop: the same order, schedule, record and resume as of the staged one."""

from collections.abc import Callable

import torch
from torch import nn
from torch.utils.data import Dataset

from onescience_check.runtime import training

from ..flags import get_args


def train_plain(
    build_model: Callable[[str], nn.Module],
    build_datasets: Callable[[str], tuple[Dataset, Dataset, Dataset]],
    loss_of: Callable[[nn.Module, torch.Tensor, torch.Tensor], torch.Tensor],
    config: str,
) -> None:
    """Train by the flags of the command line; each process holds the whole model.

    Args:
        build_model: the model that a YAML file describes.
        build_datasets: training, validation and test data of that file; samples are (input, target).
        loss_of: of ``(model, output, target)``, a scalar.
        config: the YAML file unless --config names another.
    """

    def script_flags(parser):
        parser.add_argument("--config", default=config, help="YAML file with the model and the data")
        return parser

    def model_provider(pre_process=True, post_process=True):
        return build_model(get_args().config)

    def train_valid_test_dataset_provider(train_val_test_num_samples):
        return build_datasets(get_args().config)

    def forward_step_func(data_iterator, chunk):
        invar, outvar = (part.cuda().float() for part in next(data_iterator))

        def loss_func(output):
            loss = loss_of(chunk.stages[0], output, outvar)
            return loss, {"lm loss": loss.detach()}

        return chunk(invar), loss_func

    train_valid_test_dataset_provider.is_distributed = True
    training.pretrain(
        train_valid_test_dataset_provider,
        model_provider,
        None,
        forward_step_func,
        extra_args_provider=script_flags,
    )
