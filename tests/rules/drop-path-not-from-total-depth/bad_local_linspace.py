import numpy as np
from megatron.core import parallel_state


def drop_path_rates(num_layers, top):
    here = num_layers // parallel_state.get_pipeline_model_parallel_world_size()
    return np.linspace(0, top, here).tolist()  # [drop-path-not-from-total-depth]
