from megatron.core import parallel_state as ps
from torch import nn


class Model(nn.Module):
    def __init__(self, config, dim, pre_process=True, post_process=True):
        super().__init__()
        self.tied = config.tied
        self.pre_process, self.post_process, self.input_tensor = pre_process, post_process, None
        if pre_process:
            self.embed = nn.Embedding(64, dim)
        if self.post_process:
            self.head = nn.Linear(dim, 64)
        if self.tied and post_process and pre_process:
            self.copy = nn.Embedding(64, dim)
        if self.tied and post_process:
            self.copy.weight.shared = True  # [stage-only-attribute-used]

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def encode(self, ids):
        return self.embed(ids)  # [stage-only-attribute-used]

    def forward(self, ids):
        x = self.encode(ids) + (0 if self.input_tensor is None else self.input_tensor)
        if not self.post_process:
            return x
        return self.head(x)


class ByStage(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.input_tensor = None
        if ps.is_pipeline_last_stage():
            self.norm = nn.LayerNorm(dim)

    def set_input_tensor(self, input_tensor):
        self.input_tensor = input_tensor

    def forward(self, x):
        return self.norm(x if self.input_tensor is None else self.input_tensor)  # [stage-only-attribute-used]


def provider(config):
    return Model(
        config, 8, pre_process=ps.is_pipeline_first_stage(), post_process=ps.is_pipeline_first_stage()
    )
