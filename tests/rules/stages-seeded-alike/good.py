import torch
from megatron.core import mpu
from megatron.training import pretrain
from torch import nn


class Net_stage0(nn.Module):
    def __init__(self, **kwargs):
        super().__init__()
        self.layer = nn.Linear(8, 8)


class Net_stage1(Net_stage0):
    pass


def prepare():
    seed = 17
    rank = mpu.get_pipeline_model_parallel_rank()
    seed = seed + 100 * rank
    torch.manual_seed(seed)


def shuffle():
    torch.manual_seed(17)


def model_provider(pre_process=True, post_process=True):
    prepare()
    return {0: Net_stage0, 1: Net_stage1}[mpu.get_pipeline_model_parallel_rank()]()


def main(datasets, forward_step):
    pretrain(datasets, model_provider, model_type=None, forward_step_func=forward_step)
