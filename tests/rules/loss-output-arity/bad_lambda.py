import torch
from torch import nn
from megatron.core import mpu
from megatron.core.enums import ModelType
from megatron.core.pipeline_parallel import get_forward_backward_func


class Dual(nn.Module):
    def __init__(self, cfg, pre_process, post_process):
        super().__init__()
        self.config, self.model_type = cfg, ModelType.encoder_or_decoder
        self.pre_process, self.post_process, self.input_tensor = pre_process, post_process, None
        self.body = nn.Linear(cfg.hidden_size, cfg.hidden_size)
        if post_process:
            self.mean, self.scale = nn.Linear(cfg.hidden_size, 1), nn.Linear(cfg.hidden_size, 1)

    def set_input_tensor(self, t):
        self.input_tensor = t[0] if isinstance(t, list) else t

    def forward(self, x):
        h = self.body(x if self.pre_process else self.input_tensor)
        if not self.post_process:
            return h
        return self.mean(h), self.scale(h)


def nll(y, output):
    mean, scale, h = output  # [loss-output-arity]
    loss = (torch.log(scale.exp()) + (y - mean) ** 2 / scale.exp()).mean()
    return loss, {"nll": loss.detach()}


def forward_step(it, model):
    x, y = next(it)
    return model(x), lambda out: nll(y, out)


def go(cfg, it):
    model = Dual(cfg, mpu.is_pipeline_first_stage(), mpu.is_pipeline_last_stage())
    get_forward_backward_func()(forward_step_func=forward_step, data_iterator=it, model=model, num_microbatches=2, seq_length=8, micro_batch_size=1, forward_only=False)
