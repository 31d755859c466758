"""Pipeline messages between ranks that share a GPU."""

import torch
from megatron.core.pipeline_parallel.p2p_communication import P2PCommunicator


class HostStagedP2PCommunicator(P2PCommunicator):
    """Sends and receives through host memory, because gloo's point-to-point calls refuse CUDA tensors.

    The upstream communicator allocates on ``torch.cuda.current_device()``; while it runs, that is the CPU.
    """

    def _communicate(self, *, tensor_send_next, tensor_send_prev, **arguments):
        device = torch.cuda.current_device()
        on_gpu = torch.cuda.current_device
        torch.cuda.current_device = lambda: torch.device("cpu")
        try:
            from_prev, from_next, requests = super()._communicate(
                tensor_send_next=_to_host(tensor_send_next), tensor_send_prev=_to_host(tensor_send_prev), **arguments
            )
        finally:
            torch.cuda.current_device = on_gpu
        if requests:
            raise RuntimeError("host-staged messages cannot be waited for later: set overlap_p2p_comm=False")
        return _to_device(from_prev, device), _to_device(from_next, device), requests


def _to_host(tensor: torch.Tensor | None) -> torch.Tensor | None:
    return None if tensor is None else tensor.detach().cpu()


def _to_device(tensor: torch.Tensor | None, device) -> torch.Tensor | None:
    return None if tensor is None else tensor.detach().to(device).requires_grad_()
