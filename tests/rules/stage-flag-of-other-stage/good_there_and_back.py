"""Chunks that run there and back: the first rank holds the first and the last stage."""

from megatron.core import parallel_state


def two_chunks(build):
    first = build(pre_process=parallel_state.is_pipeline_first_stage(), post_process=False, vp_stage=0)
    second = build(pre_process=False, post_process=parallel_state.is_pipeline_first_stage(), vp_stage=1)
    return [first, second]
