import argparse

from megatron.core import parallel_state


def flags():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr-decay-style", choices=["constant", "linear", "cosine"], default="cosine")
    parser.add_argument("--norm", default="layer")
    return parser.parse_args()


def schedule(args, config):
    if args.lr_decay_style == "linear":
        args.lr_decay_style = "warm"
    if args.lr_decay_style == "warm" or config.lr_decay_style == "inverse square":
        return parallel_state.get_data_parallel_rank()
    return 0
