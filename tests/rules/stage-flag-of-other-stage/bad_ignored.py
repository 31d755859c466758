from megatron.core import mpu


def flags(model):
    first = mpu.is_pipeline_first_stage(ignore_virtual=True, vp_stage=model.vp_stage)  # [stage-flag-of-other-stage]
    last = mpu.is_pipeline_last_stage(ignore_virtual=False, vp_stage=model.vp_stage)
    return first, last, mpu.is_pipeline_first_stage(ignore_virtual=True)
