from megatron.core import parallel_state as mpu


def start(tensor_parallel, pipeline_parallel):
    mpu.initialize_model_parallel(  # [argument-of-another-name]
        tensor_model_parallel_size=pipeline_parallel,
        pipeline_model_parallel_size=tensor_parallel,
    )
