import torch.distributed as dist
from megatron.core import parallel_state as ps
from vllm.distributed import get_pp_group


def share(batch):
    src = ps.get_tensor_model_parallel_src_rank()
    dist.broadcast(batch, src=src, group=ps.get_tensor_model_parallel_group())
    dist.broadcast(batch, group_src=0, group=ps.get_tensor_model_parallel_group())
    dist.broadcast(batch, src=0)
    dist.broadcast(
        batch, src=ps.get_pipeline_model_parallel_last_rank(), group=ps.get_pipeline_model_parallel_group()
    )
    dist.broadcast(batch, dist.get_global_rank(ps.get_data_parallel_group(), 0), group=ps.get_data_parallel_group())


def from_last(tokens):
    """`rank` of vLLM's group objects counts over all processes."""
    pp = get_pp_group()
    dist.broadcast(tokens, src=pp.rank, group=pp.device_group)
