from megatron.core.tensor_parallel import param_is_not_tensor_parallel_duplicate

from norm import norm


def clip(model, limit):
    counted = [p for p in model.parameters() if param_is_not_tensor_parallel_duplicate(p)]
    return limit / norm(counted)
