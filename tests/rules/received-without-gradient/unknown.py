import torch.distributed as dist


def run(model, buffer, source):
    dist.recv(buffer, src=source)
    model(buffer).sum().backward()
    return buffer.grad


def made_elsewhere(model, pool, source):
    x = pool.take()
    dist.recv(x, src=source)
    model(x).sum().backward()
    return x.grad
