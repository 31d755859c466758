from megatron.core import tensor_parallel
from torch import nn
from torch.utils.checkpoint import checkpoint


class Ice_stage1(nn.Module):
    def __init__(self, fuser, dim, config):
        super().__init__()
        self.fuser = fuser
        self.fc = tensor_parallel.ColumnParallelLinear(
            dim, dim, config=config, init_method=nn.init.zeros_, gather_output=True
        )

    def run(self, x, mask):
        return self.fuser({"x": x, "mask": mask})

    def forward(self, x, mask=None):
        x = tensor_parallel.checkpoint(self.run, False, x, None)
        return checkpoint(self.fuser, {"x": x, "mask": mask}, use_reentrant=False)
