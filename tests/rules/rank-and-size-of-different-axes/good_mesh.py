from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.pipelining import PipelineStage


def own_stage(parts, device):
    mesh = init_device_mesh("cuda", (2, 4), mesh_dim_names=("pp", "tp"))
    pp_mesh, rank = mesh["pp"], mesh["pp"].get_local_rank()
    return PipelineStage(parts[rank], rank, pp_mesh.size(), device, group=pp_mesh.get_group())


def own_rows(table, mesh):
    rank, size = mesh.get_local_rank("tp"), mesh["tp"].size()
    return table[rank::size]


def any_mesh(table, mesh):
    return table[mesh.get_local_rank() :: mesh.size()]
