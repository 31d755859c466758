from megatron.core import parallel_state as mpu
from megatron.core import tensor_parallel


def tokens(data):
    if mpu.get_tensor_model_parallel_rank() == 0:
        held = next(data)
    else:
        held = None
    held = tensor_parallel.broadcast_data(["text"], held, None)
    return held["text"].long()


def maybe(data):
    raw = next(data) if mpu.get_tensor_model_parallel_rank() == 0 else None
    return None if raw is None else raw["text"]
