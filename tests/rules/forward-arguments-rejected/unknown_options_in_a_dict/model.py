from layers import experts_class
from options import values
from torch import nn
from vllm.distributed import get_tensor_model_parallel_world_size


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.tp_size = get_tensor_model_parallel_world_size()
        self.experts = experts_class()()

    def forward(self, x, state):
        if not values["dispatch"]:
            return self.experts(x, logits=x)
        return self.forward_dispatched(x, state)

    def forward_dispatched(self, x, state):
        return self.experts(x, index=state, weights=x)
