"""Build the chunks of this rank from a guide-style ``model_provider``."""

from collections.abc import Callable, Iterator

from torch import nn

from ..errors import UserError
from ..flags import core_transformer_config_from_args, get_args
from ..pipelinetensorshapeconfig import PipelineTensorShapeConfig
from ..process_groups import pipeline_rank, seed_random_streams
from .chunk import PipelineChunk


def stages_of_chunk(chunk: int, num_chunks: int, num_stages: int) -> range:
    """The stages that chunk number `chunk` of the whole pipeline holds: consecutive, and as even as they can
    be.
    """
    return range(chunk * num_stages // num_chunks, (chunk + 1) * num_stages // num_chunks)


def build_chunks(model_provider: Callable[..., nn.Module], model_type=None) -> list[PipelineChunk]:
    """Build what this rank holds of the model: one chunk, or several for the interleaved schedule.

    ``model_provider`` asks ``mpu`` for the pipeline rank and builds the stage of that number. Where ranks are
    fewer than stages it is called once for each stage, with that number answered in place of the rank.

    Raises:
        UserError: more ranks than stages, no description of the boundaries, or one that differs between
            stages.
    """
    from megatron.core import parallel_state

    args = get_args()
    rank = parallel_state.get_pipeline_model_parallel_rank()
    ranks = parallel_state.get_pipeline_model_parallel_world_size()
    per_rank = args.num_virtual_stages_per_pipeline_rank or 1
    args.pipeline_tensor_shape_config = None

    # The number of stages is known once a provider has run. Stage number `rank` is the one to keep if nothing
    # is folded.
    guess = _build_stage(model_provider, rank, ranks)
    shapes = args.pipeline_tensor_shape_config
    if shapes is None and ranks * per_rank > 1:
        raise UserError(
            "model_provider must set get_args().pipeline_tensor_shape_config: what do the stages send?"
        )
    num_stages = shapes.num_stages if shapes else 1
    if ranks * per_rank > num_stages:
        raise UserError(
            f"{num_stages} stages cannot fill {ranks} pipeline ranks x {per_rank} chunks: lower "
            "--pipeline-model-parallel-size or --num-virtual-stages-per-pipeline-rank"
        )
    config = core_transformer_config_from_args(args)
    mine = [stages_of_chunk(index * ranks + rank, ranks * per_rank, num_stages) for index in range(per_rank)]
    if num_stages != ranks:
        guess = None
    chunks = []
    for index, numbers in enumerate(mine):
        stages = []
        for number in numbers:
            stages.append(guess if guess is not None else _build_stage(model_provider, number, num_stages))
            _check_same(shapes, args.pipeline_tensor_shape_config, number)
        chunk = PipelineChunk(
            stages,
            numbers[0],
            shapes,
            config,
            model_type,
            vp_stage=index if per_rank > 1 else None,
        )
        chunks.append(chunk.to(dtype=config.params_dtype))
    return chunks


def named_stages(chunks: list[PipelineChunk]) -> Iterator[tuple[int, nn.Module]]:
    """(number in the whole model, module) of each stage on this rank."""
    for chunk in chunks:
        yield from enumerate(chunk.stages, start=chunk.first)


def _build_stage(model_provider: Callable[..., nn.Module], number: int, num_stages: int) -> nn.Module:
    # Seeded by the stage, so that initial weights do not depend on how stages are spread over ranks.
    seed_random_streams(get_args().seed + 100 * number)
    with pipeline_rank(number, num_stages):
        try:
            return model_provider(pre_process=number == 0, post_process=number == num_stages - 1)
        except (KeyError, IndexError) as error:
            raise UserError(
                f"model_provider failed for stage {number} ({type(error).__name__}: {error}): does "
                "--pipeline-model-parallel-size exceed the number of stages?"
            ) from error


def _check_same(
    first: PipelineTensorShapeConfig | None, other: PipelineTensorShapeConfig | None, stage: int
) -> None:
    if (first and first.stage_shapes) != (other and other.stage_shapes):
        raise UserError(
            f"model_provider describes other stage_shapes for stage {stage} than for the stage before it"
        )
