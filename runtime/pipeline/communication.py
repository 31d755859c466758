"""Pipeline messages where Megatron's own communicator does not do."""

from collections.abc import Sequence

import torch
import torch.distributed as dist
from megatron.core import parallel_state
from megatron.core.pipeline_parallel.p2p_communication import P2PCommunicator

from .chunk import PipelineChunk


class BoundaryCommunicator(P2PCommunicator):
    """Point-to-point messages of one size, with a process group for each direction.

    Messages travel while the ranks compute where the schedule lets them (`overlap_p2p_comm`).

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
        shape = self.message_shape or tensor_shape
        activations = self._exchange(
            self.pp_group, tensor_send_next, self.next_rank, shape if recv_prev else None, self.prev_rank
        )
        gradients = self._exchange(
            self.backward_group,
            tensor_send_prev,
            self.prev_rank,
            shape if recv_next else None,
            self.next_rank,
        )
        handles = {
            "send_next": activations if tensor_send_next is not None else None,
            "recv_prev": activations if recv_prev else None,
            "send_prev": gradients if tensor_send_prev is not None else None,
            "recv_next": gradients if recv_next else None,
        }
        if wait_on_reqs:
            activations.wait()
            gradients.wait()
            handles = {}
        under_way = {name: handle for name, handle in handles.items() if handle is not None}
        return activations.received, gradients.received, under_way or None

    def _exchange(self, group, sent, target: int, shape, source: int) -> "_Exchange":
        operations, received, arriving = [], None, None
        if sent is not None:
            operations.append(dist.P2POp(dist.isend, sent.detach().to(self.wire).contiguous(), target, group))
        if shape is not None:
            received = torch.empty(tuple(shape), dtype=self.config.pipeline_dtype, device=self.device)
            arriving = received if self.wire == self.device else torch.empty_like(received, device=self.wire)
            operations.append(dist.P2POp(dist.irecv, arriving, source, group))
            received.requires_grad_()
        requests = dist.batch_isend_irecv(operations) if operations else []
        return _Exchange(requests, [operation.tensor for operation in operations], arriving, received)


class _Exchange:
    """Messages of one direction that are under way: what is sent stays alive, and what arrives is not there, until
    the first `wait`.
    """

    def __init__(self, requests: list, messages: list, arriving, received) -> None:
        self.requests = requests
        self.messages = messages
        self.arriving = arriving
        self.received = received

    def wait(self) -> None:
        """Wait for both: they were started together, and NCCL knows one end for all that starts together."""
        for request in self.requests:
            request.wait()
        if self.arriving is not None and self.arriving.device != self.received.device:
            self.received.data.copy_(self.arriving)
        self.requests, self.messages, self.arriving = [], [], None


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
