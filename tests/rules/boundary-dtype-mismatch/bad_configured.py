import torch
from megatron.core.transformer import TransformerConfig


def config_of(args):
    dtype = torch.bfloat16 if args.bf16 else torch.float32
    return TransformerConfig(
        num_layers=8,
        hidden_size=64,
        num_attention_heads=4,
        pipeline_model_parallel_size=args.stages,
        params_dtype=dtype,
        pipeline_dtype=torch.float32,  # [boundary-dtype-mismatch]
    )
