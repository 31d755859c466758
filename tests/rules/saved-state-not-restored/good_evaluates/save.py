import torch


def save(path, model, holder, epoch):
    torch.save(
        {"epoch": epoch, "model": model.state_dict(), "optimizer": holder.state_dict()},
        path,
    )
