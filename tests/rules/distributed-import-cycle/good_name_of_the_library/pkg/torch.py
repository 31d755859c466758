from torch import cuda


def seed(value):
    cuda.manual_seed_all(value)
