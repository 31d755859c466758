import torch
import torch.distributed as dist


def receive(shape, source):
    buffer = torch.empty(shape, requires_grad=True)
    dist.recv(buffer.data, src=source)
    return buffer


def run(model, shape, source):
    x = receive(shape, source)
    model(x).sum().backward()
    dist.send(x.grad, dst=source)


def later(model, shape, source):
    x = torch.empty(shape)
    dist.recv(x, src=source)
    x.requires_grad_()
    model(x).sum().backward()
    return x.grad


def other(model, weight, shape, source):
    x = torch.empty(shape)
    dist.recv(x, src=source)
    model(x, weight).sum().backward()
    return weight.grad
