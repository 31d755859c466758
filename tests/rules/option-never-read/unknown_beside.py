"""The tasks of Megatron's tree read arguments of their own, and are not there."""

from megatron.training import initialize_megatron
from tasks.zeroshot_gpt.datasets import build_dataset


def add_arguments(parser):
    parser.add_argument("--strict-lambada", action="store_true")
    return parser


def main(train):
    initialize_megatron(extra_args_provider=add_arguments)
    return train(build_dataset("LAMBADA"))
