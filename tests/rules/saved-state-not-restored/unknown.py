import torch
from megatron.core import parallel_state


class Checkpoint:
    def __init__(self, model, optimizer, scheduler):
        self.model, self.optimizer, self.scheduler = model, optimizer, scheduler

    def save(self, path, epoch):
        torch.save(
            {
                "epoch": epoch,
                "model": self.model.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "lr_scheduler": self.scheduler.state_dict(),
            },
            path,
        )

    def load(self, path):
        held = torch.load(path, map_location="cpu")
        self.model.load_state_dict(held["model"])
        self.optimizer.load_state_dict(held.get("optimizer"))
        for name in ("optimizer", "lr_scheduler"):
            getattr(self, name).load_state_dict(held[name])
        return held["epoch"]
