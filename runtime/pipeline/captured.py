"""The passes of a micro-batch as one CUDA graph: the host starts them with one call.

A step of a split model is short, and its thousand kernels take the host longer to start than the GPU to run.
"""

from collections.abc import Callable, Iterator, Sequence

import torch

from .chunk import PipelineChunk
from .schedule import counting, run_schedule

WARM_UP = 3  # eager passes that compile kernels and open connections before the capture


class CapturedPasses:
    """Forward and backward of one micro-batch, captured once and then replayed.

    For models without a pipeline. Gradients are added up where the optimizer keeps them.

    Args:
        forward_step_func: as Megatron has it; must not make the host wait, nor choose by values of tensors.
        chunks: the one chunk of this rank, on its GPU.
        optimizer: has ``keep_gradients`` and ``sum_gradients``, see `MasterWeightAdamW`.
        example: a micro-batch: a tensor or several, of the shapes that all later ones have.
        num_microbatches: of a step; the loss of each is divided by it.
    """

    def __init__(
        self,
        forward_step_func: Callable,
        chunks: Sequence[PipelineChunk],
        optimizer,
        example,
        num_microbatches: int,
    ) -> None:
        self.forward_step_func = counting(forward_step_func, num_microbatches)  # each is a share of the step
        self.chunks = chunks
        self.optimizer = optimizer
        self.num_microbatches = num_microbatches
        self.inputs = [torch.as_tensor(part).cuda() for part in example]
        random_state = torch.cuda.get_rng_state()
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            for _ in range(WARM_UP):
                self._run()
            optimizer.keep_gradients()
        torch.cuda.current_stream().wait_stream(aside)
        torch.cuda.synchronize()
        torch.cuda.empty_cache()  # what the eager passes used; the graph has memory of its own
        torch.cuda.set_rng_state(random_state)
        self.graph = torch.cuda.CUDAGraph()
        # Only this thread is watched for calls that a capture forbids: NCCL's own threads make some.
        with torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
            self.reports = self._run()

    def run(self, batches: Iterator) -> list[dict]:
        """All micro-batches of a step; what ``loss_func`` reported of each."""
        reports = []
        for _ in range(self.num_microbatches):
            for mine, new in zip(self.inputs, next(batches), strict=True):
                mine.copy_(torch.as_tensor(new), non_blocking=True)
            self.graph.replay()
            reports += [{name: value.clone() for name, value in report.items()} for report in self.reports]
        return reports

    def _run(self) -> list[dict]:
        reports = run_schedule(self.forward_step_func, [iter([self.inputs])], self.chunks, 1)
        self.optimizer.sum_gradients()
        return reports
