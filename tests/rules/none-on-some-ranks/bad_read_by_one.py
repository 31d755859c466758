from megatron.core import parallel_state as mpu


def batch(data):
    raw = next(data) if mpu.get_tensor_model_parallel_rank() == 0 else None
    raw = {key: value.cuda() for key, value in raw.items()}  # [none-on-some-ranks]
    return raw


def tokens(data):
    if mpu.get_tensor_model_parallel_rank() == 0:
        held = next(data)
    else:
        held = None
    return held["text"].long()  # [none-on-some-ranks]
