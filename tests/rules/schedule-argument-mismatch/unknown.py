from megatron.core import mpu
from megatron.core.pipeline_parallel import get_forward_backward_func


class Run:
    def __init__(self, args):
        self.args = args

    @property
    def all_positions(self):
        return self.args.text_len + self.args.image_tokens


def train(step, data, model, run, args):
    forward_backward = get_forward_backward_func()
    return forward_backward(
        forward_step_func=step,
        data_iterator=data,
        model=model,
        num_microbatches=args.global_batch_size // args.micro_batch_size,
        seq_length=args.text_len // args.pieces,
        micro_batch_size=args.micro_batch_size,
        forward_only=False,
    )


def evaluate(step, data, model, args):
    return get_forward_backward_func()(
        forward_step_func=step,
        data_iterator=data,
        model=model,
        num_microbatches=args.eval_batches,
        seq_length=args.seq_length,
        micro_batch_size=1,
        forward_only=True,
    )
