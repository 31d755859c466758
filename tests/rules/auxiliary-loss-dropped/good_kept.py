from torch import nn

from megatron.core import parallel_state


class Layer(nn.Module):
    """Kept on the module, handed on, or dropped on purpose."""

    def __init__(self, gate, experts):
        super().__init__()
        self.gating = gate
        self.experts = experts
        self.ranks = parallel_state.get_tensor_model_parallel_world_size()

    def forward(self, tokens):
        self.l_aux, dispatch = self.gating(tokens)
        return self.experts(dispatch @ tokens)

    def frozen(self, tokens):
        _, dispatch = self.gating(tokens)
        l_aux, again = self.gating(tokens)
        return self.experts(dispatch @ tokens) + again, {"balance": l_aux}
