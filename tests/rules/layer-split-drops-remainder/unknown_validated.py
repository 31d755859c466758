from megatron.core import parallel_state


def span(config):
    num_layers = config.num_layers
    return num_layers // parallel_state.get_pipeline_model_parallel_world_size()
