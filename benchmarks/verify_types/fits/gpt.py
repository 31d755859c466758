"""Megatron's GPT, of two layers."""

import torch
from gpt_copy.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from gpt_copy.models.gpt.gpt_model import GPTModel
from gpt_copy.transformer.transformer_config import TransformerConfig
from torch import nn


class Case(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        own = TransformerConfig(
            num_layers=2,
            hidden_size=32,
            num_attention_heads=4,
            ffn_hidden_size=64,
            tensor_model_parallel_size=config.tensor_model_parallel_size,
            sequence_parallel=config.sequence_parallel,
            use_cpu_initialization=True,
            gradient_accumulation_fusion=False,
        )
        self.gpt = GPTModel(own, get_gpt_layer_local_spec(), 64, 16, parallel_output=False)

    def forward(self, x):
        tokens = torch.arange(32, device=x.device).view(2, 16)
        return self.gpt(tokens, tokens % 16, None) + 0 * x.sum()
