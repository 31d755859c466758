import torch.distributed as dist


def serve(engine, request, rank, leader):
    if dist.get_rank() != leader:
        return engine.worker_loop()
    dist.broadcast_object_list([request], src=leader)
    if rank != 0:
        return None
    dist.barrier()
