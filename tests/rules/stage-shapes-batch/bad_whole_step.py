from onescience.distributed.megatron.training import get_args
from onescience.distributed.pipelinetensorshapeconfig import PipelineTensorShapeConfig


def provide(pre_process=False, post_process=True):
    args = get_args()
    samples = args.global_batch_size
    return PipelineTensorShapeConfig(
        num_stages=3,
        stage_shapes=[
            [[samples, 4096, 192]],  # [stage-shapes-batch]
            [[samples, 4096, 192]],
        ],
    )
