from megatron.core.model_parallel_config import ModelParallelConfig


def config(args, **extra):
    return ModelParallelConfig(
        tensor_model_parallel_size=args.tp,
        pipeline_model_parallel_size=1,
        **extra,
    )


def plain(args):
    return config(args, sequence_parallel=True)
