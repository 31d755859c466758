"""What ``loss_func`` reported, as numbers that every rank knows."""

from collections.abc import Sequence

import torch
import torch.distributed as dist

from ..errors import UserError


def world_losses(reports: list[dict], weights: Sequence[float] | None = None) -> dict[str, float]:
    """Means over micro-batches and replicas, on every rank.

    Args:
        reports: one dict per micro-batch, on the last pipeline rank. A value is a loss, or [sum of losses,
            count].
        weights: what each micro-batch counts for; None: all the same.

    Raises:
        UserError: ``loss_func`` reported something else.
    """
    from megatron.core import parallel_state

    holder = [None]
    if parallel_state.is_pipeline_last_stage(ignore_virtual=True):
        holder = [_means(reports, weights or [1.0] * len(reports))]
    group = parallel_state.get_pipeline_model_parallel_group()
    if dist.get_world_size(group) > 1:
        last = parallel_state.get_pipeline_model_parallel_last_rank()
        device = torch.cuda.current_device() if dist.get_backend() == "nccl" else "cpu"
        dist.broadcast_object_list(holder, src=last, group=group, device=torch.device(device))
    return holder[0]


def _means(reports: list[dict], weights: Sequence[float]) -> dict[str, float]:
    from megatron.core import parallel_state

    names = list(reports[0])
    if any(list(report) != names for report in reports):
        raise UserError("loss_func must report the same names for every micro-batch")
    pairs = torch.stack(
        [torch.stack([_sum_and_count(name, report[name]) for report in reports]) for name in names]
    )
    totals = (pairs * torch.tensor(weights, dtype=pairs.dtype, device=pairs.device)[:, None]).sum(dim=1)
    if parallel_state.get_data_parallel_world_size() > 1:
        dist.all_reduce(totals, group=parallel_state.get_data_parallel_group())
    return {name: (total / count).item() for name, (total, count) in zip(names, totals, strict=True)}


def _sum_and_count(name: str, value) -> torch.Tensor:
    value = torch.as_tensor(value, device=torch.cuda.current_device()).detach().double().flatten()
    if value.numel() == 1:
        return torch.cat([value, torch.ones_like(value)])
    if value.numel() != 2:
        raise UserError(
            f"loss_func must report {name!r} as one number or [sum, count], not {value.numel()} numbers"
        )
    return value
