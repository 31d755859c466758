from megatron.core import parallel_state
from torch import nn


class Keys(nn.Module):
    def __init__(self, make_layer, dim, heads):
        super().__init__()
        tp = parallel_state.get_tensor_model_parallel_world_size()
        assert heads % tp == 0
        self.local = heads // tp
        self.dim_head = dim // heads
        self.k = make_layer(dim)
        self.whole = nn.Linear(dim, dim)

    def forward(self, x):
        k = self.k(x).view(x.shape[0], x.shape[1], self.local, self.dim_head)
        v = self.whole(x).view(-1, x.shape[1], self.local, self.dim_head)
        return k, v
