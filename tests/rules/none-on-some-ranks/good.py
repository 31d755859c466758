from megatron.core import parallel_state as ps
from torch.utils.data import DataLoader


def build(dataset):
    loader = None
    if ps.get_tensor_model_parallel_rank() == 0:
        loader = DataLoader(dataset)
    return {"train": loader, "size": len(dataset)}


def loop(dataset, step):
    loaders = build(dataset)
    if loaders["train"] is not None:
        for batch in loaders["train"]:
            step(batch)
    steps = loaders["size"]
    loader = loaders["train"]
    return iter(loader) if loader is not None else None, steps


def on_ends(dataset):
    reader = None
    if ps.is_pipeline_first_stage():
        reader = dataset.reader()
    if not ps.is_pipeline_first_stage():
        return None
    return reader.read()


def either(dataset, other):
    reader = None
    if ps.is_pipeline_first_stage():
        reader = dataset.reader()
    else:
        reader = other.reader()
    return reader.read()
