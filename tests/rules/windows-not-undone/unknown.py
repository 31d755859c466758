"""Code of a model with tensor_parallel layers."""

def patchify(images, p):
    n, c, h, w = images.shape
    x = images.reshape(n, c, h // p, p, w // p, p)
    return x.permute(0, 2, 4, 3, 5, 1).reshape(n, -1, p * p * c)


def unpatchify(x, p, rows, columns):
    x = x.reshape(x.shape[0], rows, columns, p, p, -1)
    return x.permute(0, 5, 1, 3, 2, 4).reshape(x.shape[0], -1, rows * p, columns * p)
