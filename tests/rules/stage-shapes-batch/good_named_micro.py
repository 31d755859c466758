from onescience.distributed.megatron.training import get_args
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig


def provide(pre_process=False, post_process=True):
    args = get_args()
    steps = args.global_batch_size // args.micro_batch_size
    each = args.global_batch_size // steps
    return PipelineTensorShapeConfig(num_stages=2, stage_shapes=[[[each, 4096, 192]]])
