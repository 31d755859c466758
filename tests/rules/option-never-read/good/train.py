from megatron.training import get_args, pretrain
from data import build


def add_arguments(parser):
    parser.add_argument("--crop-size", type=int, default=64)
    parser.add_argument("--noise-std", type=float, default=0.1)
    parser.add_argument("--encoder-type", default="conv")
    parser.add_argument("--in-file", dest="source")
    return parser


def datasets(sizes):
    return build(get_args()), None, None


def main(model_provider, forward_step):
    pretrain(datasets, model_provider, None, forward_step, extra_args_provider=add_arguments)
