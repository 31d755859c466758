"""Windows of a grid, for tensor_parallel and plain modules."""


def window_partition(x, size):
    """(B, H, W, C) to windows."""
    b, h, w, c = x.shape
    return x.view(b, h // size, size, w // size, size, c)
