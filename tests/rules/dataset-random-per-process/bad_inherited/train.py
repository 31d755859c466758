from masked import Masked
from megatron.core import parallel_state


def data(states):
    return Masked(states)


def read(iterator):
    state, later = next(iterator)
    first = parallel_state.is_pipeline_first_stage()
    last = parallel_state.is_pipeline_last_stage()
    return (state if first else None), (later if last else None)
