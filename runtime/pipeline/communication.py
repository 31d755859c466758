"""Pipeline messages where Megatron's own communicator does not do."""

from collections.abc import Sequence

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.pipeline_parallel.p2p_communication import P2PCommunicator

from .chunk import PipelineChunk


class BoundaryCommunicator(P2PCommunicator):
    """Point-to-point messages of one size, with a process group for each direction.

    Two cases need it. In the interleaved schedule a pair of ranks may exchange activations and gradients at
    the same time (with two pipeline ranks, the next rank is also the previous one); messages of one group are
    matched by order, so those of the two directions could be taken for each other. And gloo refuses to send
    CUDA tensors, which ranks that share a GPU would: these go through host memory.

    Args:
        forward_group: pipeline group, for activations.
        backward_group: the same ranks, for gradients.
        config: the TransformerConfig.
        message_shape: of every message; None to believe the schedule.
        host_staged: send through host memory.
    """

    def __init__(
        self, forward_group, backward_group, config, message_shape=None, host_staged: bool = False
    ) -> None:
        super().__init__(forward_group, config)
        self.backward_group = backward_group
        self.message_shape = message_shape
        self.device = torch.device(torch.cuda.current_device())
        self.wire = torch.device("cpu") if host_staged else self.device

    def _communicate(
        self, *, tensor_send_next, tensor_send_prev, recv_prev, recv_next, tensor_shape, wait_on_reqs=True
    ):
        if not wait_on_reqs:
            raise RuntimeError("these messages are waited for at once: set overlap_p2p_comm=False")
        shape = self.message_shape or tensor_shape
        from_prev = self._buffer(shape) if recv_prev else None
        from_next = self._buffer(shape) if recv_next else None
        requests = [
            *self._exchange(self.pp_group, tensor_send_next, self.next_rank, from_prev, self.prev_rank),
            *self._exchange(self.backward_group, tensor_send_prev, self.prev_rank, from_next, self.next_rank),
        ]
        for request in requests:
            request.wait()
        return self._received(from_prev), self._received(from_next), None

    def _exchange(self, group, sent, target: int, received, source: int) -> list:
        operations = []
        if sent is not None:
            operations.append(dist.P2POp(dist.isend, sent.detach().to(self.wire).contiguous(), target, group))
        if received is not None:
            operations.append(dist.P2POp(dist.irecv, received, source, group))
        return dist.batch_isend_irecv(operations) if operations else []

    def _buffer(self, shape) -> torch.Tensor:
        return torch.empty(tuple(shape), dtype=self.config.pipeline_dtype, device=self.wire)

    def _received(self, tensor: torch.Tensor | None) -> torch.Tensor | None:
        return None if tensor is None else tensor.to(self.device).requires_grad_()


def communicator_for(chunks: Sequence[PipelineChunk], host_staged: bool) -> BoundaryCommunicator | None:
    """What carries the messages of this run, None for Megatron's own. Call it on every rank, once.

    Args:
        chunks: what this rank holds.
        host_staged: ranks share GPUs.
    """
    interleaved = len(chunks) > 1
    if parallel_state.get_pipeline_model_parallel_world_size() == 1 or not (interleaved or host_staged):
        return None
    group = parallel_state.get_pipeline_model_parallel_group()
    every_group = [None] * dist.get_world_size()
    dist.all_gather_object(every_group, dist.get_process_group_ranks(group))
    backward_group = None
    for ranks in sorted({tuple(ranks) for ranks in every_group}):  # all ranks take part in making each group
        made = dist.new_group(list(ranks))
        if dist.get_rank() in ranks:
            backward_group = made
    shape = chunks[0].shapes.largest_message_shape() if interleaved else None
    return BoundaryCommunicator(group, backward_group, chunks[0].config, shape, host_staged)
