import torch
from megatron.core import mpu
from megatron.training import get_args, pretrain
from torch import nn


class Net_stage0(nn.Module):
    def __init__(self, **kwargs):
        super().__init__()
        self.layer = nn.Linear(8, 8)


class Net_stage1(Net_stage0):
    pass


def model_provider(pre_process=True, post_process=True):
    args = get_args()
    torch.manual_seed(args.seed)  # [stages-seeded-alike]
    return {0: Net_stage0, 1: Net_stage1}[mpu.get_pipeline_model_parallel_rank()]()


def main(datasets, forward_step):
    pretrain(datasets, model_provider, model_type=None, forward_step_func=forward_step)
