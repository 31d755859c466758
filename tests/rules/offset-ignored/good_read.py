from megatron.core import parallel_state


def renamed(state, layer_offset):
    return {f"layers.{int(name) + layer_offset}": value for name, value in state.items()}


def planned(state, offset):
    raise NotImplementedError


def merged(states, per_stage):
    first = parallel_state.get_pipeline_model_parallel_rank() * per_stage
    return renamed(states, first), planned(states, first)
