from megatron.training import get_args, pretrain
from model import Net


def add_arguments(parser):
    parser.add_argument("--noise-std", type=float, default=0.1)
    return parser


def model_provider(pre_process=True, post_process=True):
    args = get_args()
    return Net(**vars(args))


def main(datasets, forward_step):
    pretrain(datasets, model_provider, None, forward_step, extra_args_provider=add_arguments)
