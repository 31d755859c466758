from megatron.training import get_args

from attention import Query


def model_provider(config):
    args = get_args()
    if args.num_attention_heads % args.tensor_model_parallel_size:
        raise ValueError("the heads must be a multiple of the TP size")
    return Query(args.hidden_size, args.num_attention_heads, config)
