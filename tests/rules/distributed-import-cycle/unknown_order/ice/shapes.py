from ice.icedistributedfuser import IceDistributedFuser


def padded(dim):
    return dim + 1 if IceDistributedFuser else dim  # tensor_parallel
