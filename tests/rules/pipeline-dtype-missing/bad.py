from megatron.core.model_parallel_config import ModelParallelConfig


def config(args, **extra):
    return ModelParallelConfig(  # [pipeline-dtype-missing]
        tensor_model_parallel_size=args.tp,
        pipeline_model_parallel_size=args.pp,
        **extra,
    )


def plain(args):
    return config(args, sequence_parallel=True)
