import torch
import torch.distributed as dist
from megatron.core import parallel_state as ps


def gather(value):
    if ps.get_tensor_model_parallel_rank() > 0:
        return None
    parts = [torch.empty_like(value) for _ in range(ps.get_tensor_model_parallel_world_size())]
    dist.all_gather(parts, value, group=ps.get_tensor_model_parallel_group())  # [collective-after-local-return]
    return parts


def evaluate(batches, model):
    for batch in batches:
        loss = model(batch)
        if not ps.is_pipeline_last_stage():
            continue
        dist.all_reduce(loss, group=ps.get_model_parallel_group())  # [collective-after-local-return]
        print(loss)


def done(handles):
    if len(handles) == 0:
        return 0
    count = 0
    for handle in handles:
        if handle.done():
            count += 1
    total = torch.tensor([count])
    dist.all_reduce(total, group=ps.get_data_parallel_group())  # [collective-after-local-return]
    return total.item()
