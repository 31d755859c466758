from megatron.core import mpu


def check(args):
    if args.num_heads % mpu.get_tensor_model_parallel_world_size() != 0:
        raise ValueError("the heads must be a multiple of the TP size")
