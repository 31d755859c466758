from megatron.training import pretrain
from overrides import apply


def add_arguments(parser):
    parser.add_argument("--freeze-encoder", action="store_true")
    return parser


def model_provider(pre_process=True, post_process=True):
    return apply(build=dict)


def main(datasets, forward_step):
    pretrain(datasets, model_provider, None, forward_step, extra_args_provider=add_arguments)
