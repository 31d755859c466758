from megatron.core import parallel_state as mpu


def start(tp, pp):
    mpu.initialize_model_parallel(tensor_model_parallel_size=tp, pipeline_model_parallel_size=pp)
