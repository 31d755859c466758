from megatron.core import parallel_state


def span(depth):
    pp = parallel_state.get_pipeline_model_parallel_world_size()
    assert depth % pp == 0, f'{depth} layers on {pp} stages'
    return depth // pp
