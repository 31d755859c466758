from megatron.core import tensor_parallel
from torch import nn


class Head(nn.Module):
    def forward(self, logits):
        if self.parallel_output:
            return logits
        tensor_parallel.gather_from_tensor_model_parallel_region(logits)  # [collective-result-discarded]
        tensor_parallel.scatter_to_sequence_parallel_region(logits)  # [collective-result-discarded]
        return logits.argmax(dim=-1)
