from megatron.core import parallel_state


def merged(states, layers_of_stage):
    whole = {}
    for stage, state in enumerate(states):
        whole.update(renamed(state, layer_offset=stage * layers_of_stage))
    return whole


def renamed(state, *, layer_offset):  # [offset-ignored]
    """Names as a single process would have them."""
    ranks = parallel_state.get_pipeline_model_parallel_world_size()
    return {f"model.{name}" if ranks > 1 else name: value for name, value in state.items()}
