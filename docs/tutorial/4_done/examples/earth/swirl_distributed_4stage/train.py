"""Train Swirl over four pipeline stages."""

from functools import partial
from pathlib import Path

import torch
from torch.nn import functional as F
from weather.models.swirl_distributed_4stage import Swirl_stage0, Swirl_stage1, Swirl_stage2, Swirl_stage3

from onescience_check.runtime.core import mpu
from onescience_check.runtime.era5 import ERA5Dataset
from onescience_check.runtime.pipelinetensorshapeconfig import PipelineTensorShapeConfig
from onescience_check.runtime.training import get_args, pretrain
from onescience_check.runtime.training.arguments import core_transformer_config_from_args
from onescience_check.runtime.yparams import YParams

CONFIG_FILE = Path(__file__).parent / "conf" / "config.yaml"
MODEL_KEYS = {
    "patch_size": int,
    "embed_dim": int,
    "num_heads": [int] * 4,
    "window_size": [int] * 2,
    "depths": [int] * 4,
}
DATASET_KEYS = {
    "data_dir": str,
    "img_size": [int] * 2,
    "train_time": [int],
    "val_time": [int],
    "test_time": [int],
}
SECTIONS = {"model": MODEL_KEYS, "dataset": DATASET_KEYS}


def script_flags(parser):
    """The flags of this script alone."""
    parser.add_argument("--config", default=str(CONFIG_FILE), help="YAML file with the model and the data")
    return parser


def build_model(cfg, cfg_data, config):
    """The stage of this pipeline rank."""
    stages = {0: Swirl_stage0, 1: Swirl_stage1, 2: Swirl_stage2, 3: Swirl_stage3}
    stage_cls = stages[mpu.get_pipeline_model_parallel_rank()]
    return stage_cls(
        img_size=cfg_data.img_size,
        patch_size=cfg.patch_size,
        embed_dim=cfg.embed_dim,
        num_heads=cfg.num_heads,
        window_size=cfg.window_size,
        depths=cfg.depths,
        config=config,
    )


def model_provider(pre_process=False, post_process=True):
    """Build the stage and say what crosses the boundaries: x on the coarse grid, and the skip connection."""
    args = get_args()
    cfg = YParams(args.config, "model", SECTIONS)
    cfg_data = YParams(args.config, "dataset", SECTIONS)
    model = build_model(cfg, cfg_data, core_transformer_config_from_args(args))
    batch, dim = args.micro_batch_size, cfg.embed_dim
    rows, columns = cfg_data.img_size[0] // cfg.patch_size, cfg_data.img_size[1] // cfg.patch_size
    args.pipeline_tensor_shape_config = PipelineTensorShapeConfig(
        num_stages=4,
        stage_shapes=[
            [[batch, rows // 2, columns // 2, 2 * dim], [batch, rows, columns, dim]],
            [[batch, rows // 2, columns // 2, 2 * dim], [batch, rows, columns, dim]],
            [[batch, rows // 2, columns // 2, 2 * dim], [batch, rows, columns, dim]],
        ],
    )
    return model


def train_valid_test_dataset_provider(train_val_test_num_samples):
    """Training, validation and test data of the years in the YAML file."""
    cfg_data = YParams(get_args().config, "dataset", SECTIONS)
    train_dataset = ERA5Dataset(cfg_data.data_dir, cfg_data.train_time)
    val_dataset = ERA5Dataset(cfg_data.data_dir, cfg_data.val_time)
    test_dataset = ERA5Dataset(cfg_data.data_dir, cfg_data.test_time)
    return train_dataset, val_dataset, test_dataset


def forward_step_func(data_iterator, model):
    """One micro-batch: the first stage reads the input, the last one the label."""
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
        loss = F.mse_loss(output, label)
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
