"""The same, with other names for the fields."""

import torch
from data import Fields
from losses import relative_loss
from megatron.core import mpu
from megatron.training import pretrain
from torch import nn


class Wren(nn.Module):
    def __init__(self, dim=64, drop=0.0, attn_drop=0.0):
        super().__init__()
        self.mix = nn.Linear(dim, dim)
        self.drop = nn.Dropout(drop)
        self.other = nn.Dropout(attn_drop)

    def forward(self, x):
        return self.other(self.drop(self.mix(x)))


class Wren_stage0(nn.Module):
    def __init__(self, dim=64, drop=0.0, attn_drop=0.0, config=None, **kwargs):
        super().__init__()
        self.config, self.input_tensor = config, None
        self.mix = nn.Linear(dim, dim)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        return (self.mix(x),)


class Wren_stage1(nn.Module):
    def __init__(self, dim=64, drop=0.0, attn_drop=0.0, config=None, **kwargs):
        super().__init__()
        self.config, self.input_tensor = config, None
        self.drop = nn.Dropout(drop)
        self.other = nn.Dropout(attn_drop)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x=None):
        (x,) = self.input_tensor
        return self.other(self.drop(x))


def train_plain(cfg, land):
    model = Wren(dim=cfg.dim, drop=cfg.drop, attn_drop=cfg.attn_drop)
    for x, y in Fields(cfg.folder):
        loss = relative_loss(model(x), y, land)
        loss.backward()


def model_provider(cfg, config):
    stages = {0: Wren_stage0, 1: Wren_stage1}
    stage_cls = stages[mpu.get_pipeline_model_parallel_rank()]
    return stage_cls(
        dim=cfg.width, drop=cfg.rates.drop, attn_drop=cfg.rates.attn_drop,
        config=config,
    )


def forward_step(data_iterator, model):
    x, y = next(data_iterator)
    output = model(x)

    def loss_func(output):
        loss = relative_loss(output, y, model.land)
        return loss, torch.tensor(1, device=loss.device), {"loss": loss.detach()}

    return output, loss_func


pretrain(model_provider=model_provider, forward_step_func=forward_step)
