from megatron.core import parallel_state


def uneven(t, sizes):
    rank = parallel_state.get_tensor_model_parallel_rank()
    first = sum(sizes[:rank])
    return t.narrow(0, first, sizes[rank])


def by_length(t, start, last):
    return t.narrow(0, start, last)


def whole_and_part(total):
    size = parallel_state.get_tensor_model_parallel_world_size()
    rank = parallel_state.get_tensor_model_parallel_rank()
    return rank * total // size, total // size


def both_ends(total, cut):
    rank = parallel_state.get_tensor_model_parallel_rank()
    first, last = cut(total, rank)
    return first, last
