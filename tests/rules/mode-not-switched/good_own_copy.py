import torch
from megatron.core import parallel_state


def validate(folder, batches):
    model = torch.load(folder)
    model.eval()
    with torch.no_grad():
        return sum(model(batch).mean() for batch in batches) / parallel_state.get_data_parallel_world_size()


def train(model, optimizer, batches, held_out, folder):
    for batch in batches:
        model(batch).mean().backward()
        optimizer.step()
        validate(folder, held_out)
