from megatron.core import parallel_state as mpu
from torch import nn


class Decoder(nn.Module):
    def __init__(self, depth, dim, post_process=True):
        super().__init__()
        self.post_process = post_process
        count = depth // mpu.get_pipeline_model_parallel_world_size()
        self.blocks = nn.ModuleList([nn.Linear(dim, dim) for _ in range(count)])
        self.ln_f = nn.LayerNorm(dim) if post_process else None

    def forward(self, x, mask=None):
        for block in self.blocks:
            x = block(x)
        if self.ln_f is not None:
            x = self.ln_f(x)
        return x
