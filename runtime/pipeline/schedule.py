"""One step of micro-batches through megatron-core's own schedules."""

from collections.abc import Callable, Sequence

import torch

from ..errors import UserError
from .chunk import PipelineChunk
from .communication import BoundaryCommunicator


def run_schedule(
    forward_step_func: Callable,
    data_iterators: Sequence,
    chunks: Sequence[PipelineChunk],
    num_microbatches: int,
    micro_batch_size: int = 1,
    forward_only: bool = False,
    communicator: BoundaryCommunicator | None = None,
) -> list[dict]:
    """Forward, and backward unless `forward_only`, of all micro-batches of a step.

    Which schedule: none without a pipeline, 1F1B, or interleaved 1F1B for several chunks per rank.

    Args:
        forward_step_func: ``(data_iterator, model) -> (output, loss_func)``, as Megatron has it.
        data_iterators: one iterator for each chunk.
        chunks: the model of this rank.
        num_microbatches: micro-batches per replica and step.
        micro_batch_size: samples in each.
        communicator: carries the messages; None for Megatron's own. See `communication.communicator_for`.

    Returns:
        What ``loss_func`` reported for each micro-batch; empty but on the last pipeline rank.

    Raises:
        UserError: the interleaved schedule cannot be filled with so few micro-batches.
    """
    from megatron.core import parallel_state
    from megatron.core.pipeline_parallel import get_forward_backward_func

    interleaved = len(chunks) > 1
    ranks = parallel_state.get_pipeline_model_parallel_world_size()
    if interleaved and num_microbatches % ranks:
        raise UserError(
            f"the interleaved schedule needs a number of micro-batches that is a multiple of the {ranks} "
            "pipeline ranks,"
            f" not {num_microbatches}: change --global-batch-size"
        )
    extra = {}
    if ranks > 1 and not interleaved:
        extra["adjust_tensor_shapes_fn"] = _message_shapes(chunks[0])
    if communicator is not None:
        extra["p2p_communicator"] = communicator
        extra["pg_collection"] = _groups()
    return get_forward_backward_func()(
        forward_step_func=counting(forward_step_func),
        data_iterator=list(data_iterators) if interleaved else data_iterators[0],
        model=list(chunks) if interleaved else chunks[0],
        num_microbatches=num_microbatches,
        seq_length=1,  # not asked for: the chunk tells the size of messages
        micro_batch_size=micro_batch_size,
        forward_only=forward_only,
        **extra,
    )


def counting(forward_step_func: Callable, times: int = 1) -> Callable:
    """The same, whose ``loss_func`` gives three results: a loss, ``times`` what it counts for, what to report.

    Of a loss without a count Megatron's schedules take the gradient times the number of context-parallel ranks. They
    divide a loss by its count.
    """

    def forward_step(data_iterator, model):
        output, loss_func = forward_step_func(data_iterator, model)

        def counting_loss_func(output):
            loss, *counts, report = loss_func(output)
            count = counts[0] if counts else torch.ones((), dtype=torch.int, device=loss.device)
            # A copy: Megatron divides the loss in place, and what is reported may share its memory. A loss that is no
            # number can have a gradient that is one (|x|, whose slope is a sign): made none, so that no weight changes.
            return loss * (1 + 0 * loss.detach()), count * times, report

        return output, counting_loss_func

    return forward_step


def _message_shapes(chunk: PipelineChunk) -> Callable:
    last = chunk.first + len(chunk.stages) - 1
    placeholder = (1, 1, 1)  # the first rank receives nothing, the last sends nothing
    receive = placeholder if chunk.pre_process else chunk.shapes.message_shape(chunk.first - 1)
    send = placeholder if chunk.post_process else chunk.shapes.message_shape(last)
    return lambda recv_shapes, send_shapes: ([receive], [send])


def _groups():
    from megatron.core import parallel_state
    from megatron.core.process_groups_config import ProcessGroupCollection

    groups = ProcessGroupCollection()
    groups.tp = parallel_state.get_tensor_model_parallel_group()
    groups.cp = parallel_state.get_context_parallel_group()
    groups.pp = parallel_state.get_pipeline_model_parallel_group()
    groups.embd = parallel_state.get_embedding_group(check_initialized=False)
    groups.pos_embd = parallel_state.get_position_embedding_group(check_initialized=False)
    groups.dp_cp = parallel_state.get_data_parallel_group(with_context_parallel=True)
    return groups
