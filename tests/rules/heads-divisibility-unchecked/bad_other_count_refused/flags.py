"""The number of heads on the command line is not that of the model, which its own file gives."""


def check(args):
    heads = args.num_attention_heads
    if heads % args.tensor_model_parallel_size:
        raise ValueError("the heads must be a multiple of the TP size")
