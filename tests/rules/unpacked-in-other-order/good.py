from megatron.core import mpu


def share(total):
    size = mpu.get_tensor_model_parallel_world_size()
    return mpu.get_tensor_model_parallel_rank() * (total // size), total // size


def rows(total):
    first, count = share(total)
    return range(first, first + count)


def cut(x):
    start, length = share(len(x))
    return x[start : start + length]


def rest(x):
    _, count = share(len(x))
    return x[count:]


def swapped(pair):
    return pair[1], pair[0]


def twice(a, b):
    b, a = swapped((a, b))
    a, b = swapped((b, a))
    b, a = swapped((a, b))
    a, b = swapped((b, a))
    return a, b
