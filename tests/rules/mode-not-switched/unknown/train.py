import torch
from megatron.core import parallel_state

from helpers import back


def validate(model, batches):
    model.eval()
    with torch.no_grad():
        found = sum(model(batch).mean() for batch in batches) / parallel_state.get_data_parallel_world_size()
    back(model)
    return found


def train(model, optimizer, batches, held_out):
    for batch in batches:
        model(batch).mean().backward()
        optimizer.step()
        validate(model, held_out)
