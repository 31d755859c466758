from megatron.core import parallel_state


def drop_path_rates(depths, top):
    rank = parallel_state.get_pipeline_model_parallel_rank()
    total = sum(depths)
    rates = [index / (total - 1) * top for index in range(total)]
    start = sum(depths[:rank])
    return rates[start : start + depths[rank]]
