from megatron.core import parallel_state


def span(depth):
    pp = parallel_state.get_pipeline_model_parallel_world_size()
    rank = parallel_state.get_pipeline_model_parallel_rank()
    base, extra = divmod(depth, pp)
    return base + (rank < extra)
