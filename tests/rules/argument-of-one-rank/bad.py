from megatron.core.tensor_parallel import reduce_from_tensor_model_parallel_region


def attend(q, k, scale, position_bias, group):
    if group.size() == 1:
        return (q @ k.mT * scale + position_bias).softmax(-1)
    scores = reduce_from_tensor_model_parallel_region(q @ k.mT) * scale
    return scores.softmax(-1)  # [argument-of-one-rank]
