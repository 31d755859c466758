"""Train Pangu-Weather with tensor parallelism inside four pipeline stages. See README.md beside this file."""

import math
from functools import partial
from pathlib import Path

import torch

from onescience_check.reference_models.models.pangu import pangu_loss
from onescience_check.reference_models.models.pangu.grids import token_grids
from onescience_check.reference_models.models.pangu_distributed_4stage import (
    Pangu_stage0,
    Pangu_stage1,
    Pangu_stage2,
    Pangu_stage3,
)
from onescience_check.reference_models.modules.compiled import compile_parts
from onescience_check.runtime.core import mpu
from onescience_check.runtime.era5 import ERA5Dataset
from onescience_check.runtime.errors import UserError
from onescience_check.runtime.fields import DATASET_KEYS
from onescience_check.runtime.pipelinetensorshapeconfig import PipelineTensorShapeConfig
from onescience_check.runtime.training import get_args, pretrain
from onescience_check.runtime.training.arguments import core_transformer_config_from_args
from onescience_check.runtime.yparams import SIZE, YParams

CONFIG_FILE = Path(__file__).parent / "conf" / "config.yaml"
MODEL_KEYS = {
    "patch_size": [SIZE] * 3,
    "embed_dim": SIZE,
    "num_heads": [SIZE] * 4,
    "window_size": [SIZE] * 3,
    "depths": [SIZE] * 4,
    "drop": (int, float),
    "attn_drop": (int, float),
    "drop_path": (int, float),
}
SECTIONS = {"model": MODEL_KEYS, "dataset": DATASET_KEYS}


def script_flags(parser):
    """The flags of this script alone."""
    parser.add_argument("--config", default=str(CONFIG_FILE), help="YAML file with the model and the data")
    parser.add_argument("--torch-compile", action="store_true", help="compile the parts of the stages (GPUs)")
    return parser


def build_model(cfg, cfg_data, config):
    """The stage of this pipeline rank, from scalars of the YAML file and Megatron's config."""
    stages = {0: Pangu_stage0, 1: Pangu_stage1, 2: Pangu_stage2, 3: Pangu_stage3}
    stage_cls = stages[mpu.get_pipeline_model_parallel_rank()]
    return stage_cls(
        img_size=cfg_data.img_size,
        patch_size=cfg.patch_size,
        embed_dim=cfg.embed_dim,
        num_heads=cfg.num_heads,
        window_size=cfg.window_size,
        depths=cfg.depths,
        drop=cfg.drop,
        attn_drop=cfg.attn_drop,
        drop_path=cfg.drop_path,
        config=config,
    )


def model_provider(pre_process=False, post_process=True):
    """Build the stage and say what crosses the boundaries: x on the coarse grid, and the skip connection."""
    args = get_args()
    cfg = YParams(args.config, "model", SECTIONS)
    cfg_data = YParams(args.config, "dataset", SECTIONS)
    config = core_transformer_config_from_args(args)
    try:
        model = build_model(cfg, cfg_data, config)
    except ValueError as error:  # the model refuses sizes that do not go together
        raise UserError(f"{args.config}: {error}") from error
    if args.torch_compile:
        compile_parts(model)
    fine, coarse = token_grids(cfg_data.img_size, cfg.patch_size)
    batch = args.micro_batch_size
    args.pipeline_tensor_shape_config = PipelineTensorShapeConfig(
        num_stages=4,
        stage_shapes=[
            [[batch, math.prod(coarse), 2 * cfg.embed_dim], [batch, math.prod(fine), cfg.embed_dim]],
            [[batch, math.prod(coarse), 2 * cfg.embed_dim], [batch, math.prod(fine), cfg.embed_dim]],
            [[batch, math.prod(coarse), 2 * cfg.embed_dim], [batch, math.prod(fine), cfg.embed_dim]],
        ],
        window_parallel_size=args.window_parallel_size,
    )
    return model


def train_valid_test_dataset_provider(train_val_test_num_samples):
    """Training, validation and test data of the years in the YAML file."""
    args = get_args()
    cfg_data = YParams(args.config, "dataset", SECTIONS)
    train_dataset = ERA5Dataset(cfg_data.data_dir, cfg_data.train_time, cfg_data.lead)
    val_dataset = ERA5Dataset(cfg_data.data_dir, cfg_data.val_time, cfg_data.lead)
    test_dataset = ERA5Dataset(cfg_data.data_dir, cfg_data.test_time, cfg_data.lead)
    if list(train_dataset.img_size) != cfg_data.img_size:
        raise UserError(
            f"{args.config}: img_size is {cfg_data.img_size}, but the fields in {cfg_data.data_dir} have "
            f"{list(train_dataset.img_size)} rows and columns"
        )
    return train_dataset, val_dataset, test_dataset


def forward_step_func(data_iterator, model):
    """One micro-batch through the stages of this rank: the first reads the input, the last one the label."""
    is_first_stage = mpu.is_pipeline_first_stage(ignore_virtual=False, vp_stage=model.vp_stage)
    is_last_stage = mpu.is_pipeline_last_stage(ignore_virtual=False, vp_stage=model.vp_stage)
    invar = outvar = None
    if is_first_stage or is_last_stage:
        data = next(data_iterator)
        if is_first_stage:
            invar = data[0].cuda().float()
        if is_last_stage:
            outvar = data[1].cuda().float()

    output = model(invar)

    def loss_func(label, output):
        loss = pangu_loss(output, label)
        num_tokens = torch.ones((), dtype=torch.int, device=loss.device)
        reporting_loss = torch.cat([loss.clone().detach().view(1), num_tokens.view(1)])
        return loss, num_tokens, {"lm loss": reporting_loss}

    return output, partial(loss_func, outvar)


if __name__ == "__main__":
    train_valid_test_dataset_provider.is_distributed = True
    pretrain(
        train_valid_test_dataset_provider=train_valid_test_dataset_provider,
        model_provider=model_provider,
        model_type=None,
        forward_step_func=forward_step_func,
        args_defaults={"dataloader_type": "cyclic"},
        extra_args_provider=script_flags,
    )
