from megatron.core import mpu


def encoder(build, split_rank, args):
    """The encoder of an encoder-decoder model ends in the middle of the pipeline."""
    rank = mpu.get_pipeline_model_parallel_rank()
    post_process = rank == split_rank - 1
    return build(pre_process=args.standalone or rank == 0, post_process=post_process)
