from megatron.core import parallel_state


def per_group(samples, groups):
    rank = parallel_state.get_pipeline_model_parallel_rank()
    return samples // groups + rank
