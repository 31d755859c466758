import torch
from megatron.core import parallel_state


def evaluate(path, model):
    held = torch.load(path, map_location="cpu")
    model.load_state_dict(held["model"])
    print("epoch", held["epoch"], parallel_state.get_tensor_model_parallel_rank())
    return model
