import torch
import torch.distributed as dist
from megatron.core import parallel_state as ps
from megatron.core.tensor_parallel import reduce_from_tensor_model_parallel_region


def tp_size():
    return ps.get_tensor_model_parallel_world_size()


def whole(x):
    parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, x, group=ps.get_tensor_model_parallel_group())  # [reduced-over-wrong-group]
    return torch.cat(parts)


def stages(mine):
    found = [None] * ps.get_pipeline_model_parallel_world_size()
    dist.all_gather_object(found, mine, group=ps.get_data_parallel_group())  # [reduced-over-wrong-group]
    return found


def experts(out):
    return reduce_from_tensor_model_parallel_region(out, group=ps.get_data_parallel_group())  # [reduced-over-wrong-group]


def mean(loss):
    dist.all_reduce(loss, group=ps.get_data_parallel_group())  # [reduced-over-wrong-group]
    loss /= tp_size()
    return loss


def _reduce(grads, group):
    dist.all_reduce(torch.cat(grads), group=group)


def norms(model):
    grads = [p.grad for p in model.parameters() if getattr(p, "sequence_parallel", False)]
    _reduce(grads, ps.get_data_parallel_group())  # [reduced-over-wrong-group]


class ShareSampler:
    def __iter__(self):
        return iter(self.order[ps.get_data_parallel_rank() :: ps.get_data_parallel_world_size()])


def _share(tensor):
    dist.broadcast(tensor, src=0)  # [reduced-over-wrong-group]
    return tensor


def get_batch(iterator):
    return {name: _share(value) for name, value in next(iterator).items()}
