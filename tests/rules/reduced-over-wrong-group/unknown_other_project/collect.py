"""Another one splits nothing: all processes are replicas, and share the name of a folder."""

import torch.distributed as dist


def shared_name(name):
    dist.broadcast(name, src=0)
    return name


def evaluate(model, loader, name):
    results = [model(next(loader)) for _ in range(8)]
    folder = shared_name(name)
    return results, folder, dist.get_world_size()
