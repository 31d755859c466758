from megatron.core import parallel_state
from megatron.core.tensor_parallel import ColumnParallelLinear
from torch import nn


def first_of(total):
    per = total // parallel_state.get_tensor_model_parallel_world_size()
    return parallel_state.get_tensor_model_parallel_rank() * per


class Words(nn.Module):
    def __init__(self, config, words):
        super().__init__()
        self.first = first_of(words)
        self.out = ColumnParallelLinear(
            config.hidden_size, words, config=config, init_method=config.init_method, gather_output=False
        )

    def forward(self, x, labels):
        logits = self.out(x)[0].float()
        own = labels - first_of(logits.size(-1))  # [share-divided-again]
        return logits.gather(-1, own.unsqueeze(-1))
