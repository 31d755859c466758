import torch
import torch.distributed as dist


class MaskedLoss(torch.nn.Module):
    def __init__(self, group=None):
        super().__init__()
        self.group = group

    def forward(self, pred, target, valid):
        err = ((pred - target).abs() * valid).sum()
        num = valid.sum()
        total = err.detach().clone()
        dist.all_reduce(total, group=self.group)
        dist.all_reduce(num, group=self.group)
        self.last = (total / num.clamp(min=1)).item()
        return err / valid.sum().clamp(min=1)
