from megatron.core import parallel_state as mpu


def layers_of_stage(total):
    per_stage = total // mpu.get_pipeline_model_parallel_world_size()
    return mpu.get_pipeline_model_parallel_rank() * per_stage, per_stage


def build(total, make):
    offset, count = layers_of_stage(total)  # [offset-ignored]
    return [make(number=index + 1) for index in range(count)]
