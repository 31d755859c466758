from megatron.core import parallel_state as mpu


def part_of(total, rank, size):
    width = total // size
    return rank * width, width


def restore(model, state):
    size = mpu.get_tensor_model_parallel_world_size()
    rank = mpu.get_tensor_model_parallel_rank()
    for name, p in model.named_parameters():
        whole = state[name]
        if p.partition_dim == 1:
            start, width = part_of(whole.shape[1], rank, size)
            p.data.copy_(whole.narrow(1, start, width))
        else:
            rows = whole.shape[0] // size
            p.data.copy_(whole.narrow(0, rank * rows, rows))
