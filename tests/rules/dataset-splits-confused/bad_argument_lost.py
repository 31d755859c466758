from functools import partial

import torch
from data import OceanDataset
from model import Ocean_stage0, Ocean_stage1
from onescience.distributed.megatron.core import mpu
from onescience.distributed.megatron.training import get_args, pretrain
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig


def datasets(train_val_test_num_samples):
    cfg = get_args().data
    train = OceanDataset(cfg.folder, cfg.train_years, cfg.lead)
    valid = OceanDataset(cfg.folder, cfg.val_years)  # [dataset-splits-confused]
    test = OceanDataset(cfg.folder, cfg.test_years, cfg.lead)
    return train, valid, test


def model_provider(pre_process=False, post_process=True):
    stages = {0: Ocean_stage0, 1: Ocean_stage1}
    shapes = [[[1, 2048, 96], [1, 2048, 96]]]
    get_args().pipeline_tensor_shape_config = PipelineTensorShapeConfig(num_stages=2, stage_shapes=shapes)
    return stages[mpu.get_pipeline_model_parallel_rank()](dim=96)


if __name__ == "__main__":
    datasets.is_distributed = True
    pretrain(train_valid_test_dataset_provider=datasets, model_provider=model_provider)
