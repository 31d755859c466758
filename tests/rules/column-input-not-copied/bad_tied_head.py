import torch
from megatron.core.tensor_parallel import (
    VocabParallelEmbedding,
    copy_to_tensor_model_parallel_region,
    gather_from_sequence_parallel_region,
)
from torch import nn


class Model(nn.Module):
    def __init__(self, config, words):
        super().__init__()
        self.config = config
        self.table = VocabParallelEmbedding(
            words, config.hidden_size, init_method=config.init_method, config=config
        )

    def logits(self, x):
        if self.config.sequence_parallel:
            x = gather_from_sequence_parallel_region(x, tensor_parallel_output_grad=False)
        else:
            x = copy_to_tensor_model_parallel_region(x)
        return torch.matmul(x, self.table.weight.t())  # [column-input-not-copied]


def step(model, x, optimizer):
    model.logits(x).mean().backward()
    optimizer.step()
