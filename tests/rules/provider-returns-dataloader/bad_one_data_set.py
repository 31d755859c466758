from functools import partial

import torch
from onescience.distributed.megatron.core import mpu
from onescience.distributed.megatron.training import get_args, pretrain
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig

from model import Ocean_stage0, Ocean_stage1
from data import OceanDataset

def datasets(train_val_test_num_samples):
    train = OceanDataset("train")
    return train  # [provider-returns-dataloader]

def model_provider(pre_process=False, post_process=True):
    stages = {0: Ocean_stage0, 1: Ocean_stage1}
    shapes = [[[1, 2048, 96], [1, 2048, 96]]]
    get_args().pipeline_tensor_shape_config = PipelineTensorShapeConfig(num_stages=2, stage_shapes=shapes)
    return stages[mpu.get_pipeline_model_parallel_rank()](dim=96)

def forward_step_func(data_iterator, model):
    sst, target = next(data_iterator)
    output = model(sst.cuda().float())

    def loss_func(output):
        loss = (output - target.cuda().float()).abs().mean()
        return loss, torch.tensor(1, device="cuda"), {"loss": loss.detach()}

    return output, loss_func

if __name__ == "__main__":
    datasets.is_distributed = True
    pretrain(
        train_valid_test_dataset_provider=datasets,
        model_provider=model_provider,
        model_type=None,
        forward_step_func=forward_step_func,
        args_defaults={"dataloader_type": "cyclic"},
    )
