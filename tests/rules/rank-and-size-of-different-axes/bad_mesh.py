from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.pipelining import PipelineStage


def own_stage(parts, device):
    mesh = init_device_mesh("cuda", (2, 4), mesh_dim_names=("pp", "tp"))
    pp_mesh, rank = mesh["pp"], mesh["tp"].get_local_rank()
    return PipelineStage(parts[rank], rank, pp_mesh.size(), device, group=pp_mesh.get_group())  # [rank-and-size-of-different-axes]
