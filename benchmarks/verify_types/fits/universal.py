"""The multimodal model of the universal tree, without experts: which one is taken depends on numbers."""

import torch
from torch import nn
from vlmtrain.config import RunConfig
from vlmtrain.models.vlm import VisionLanguageModel


class Case(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        run = RunConfig()
        run.parallel.tensor_parallel = config.tensor_model_parallel_size
        run.parallel.sequence_parallel = config.sequence_parallel
        run.parallel.use_cpu = True
        run.text.moe_every = 0
        self.model = VisionLanguageModel(run)

    def forward(self, x):
        tokens = torch.arange(32, device=x.device).view(2, 16)
        return self.model(x, tokens, torch.ones(2, 32, dtype=torch.bool, device=x.device))
