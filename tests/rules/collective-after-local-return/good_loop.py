import torch
import torch.distributed as dist


def train(model, loader, opt, group):
    for batch in loader:
        mine = batch["owner"] == dist.get_rank(group)
        keep = mine.float()
        loss = ((model(batch["x"]) - batch["y"]).pow(2).mean(-1) * keep).sum()
        loss.backward()
        for p in model.parameters():
            dist.all_reduce(p.grad, group=group)
        opt.step()
