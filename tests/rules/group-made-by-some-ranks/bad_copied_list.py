import torch.distributed as dist


def second_groups(ranks_of_groups):
    mine = None
    for ranks in sorted(ranks_of_groups):
        if dist.get_rank() in ranks:
            mine = dist.new_group(list(ranks))  # [group-made-by-some-ranks]
    return mine
