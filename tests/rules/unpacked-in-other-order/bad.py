from megatron.core import mpu


def share(total):
    size = mpu.get_tensor_model_parallel_world_size()
    return mpu.get_tensor_model_parallel_rank() * (total // size), total // size


class Bank:
    def __init__(self, total):
        self.first, self.count = share(total)


def rows(total):
    first, count = share(total)
    return range(first, first + count)


def cut(x):
    count, first = share(len(x))  # [unpacked-in-other-order]
    return x[first : first + count]
