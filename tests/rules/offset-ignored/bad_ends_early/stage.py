from layers import LarkFuser
from megatron.core import parallel_state
from torch import nn


class LarkBack(nn.Module):
    def __init__(self, dim, rates, config):
        super().__init__()
        front = parallel_state.get_pipeline_model_parallel_rank() * len(rates)
        self.layer = LarkFuser(dim, len(rates), rates, first_block=front, config=config)
