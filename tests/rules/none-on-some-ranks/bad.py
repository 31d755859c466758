from megatron.core import parallel_state as ps
from torch.utils.data import DataLoader


def build(dataset):
    loader = None
    if ps.get_tensor_model_parallel_rank() == 0:
        loader = DataLoader(dataset)
    return loader


def loop(dataset, step):
    loader = build(dataset)
    for batch in loader:  # [none-on-some-ranks]
        step(batch)


def on_ends(dataset):
    reader = None
    if ps.is_pipeline_first_stage():
        reader = dataset.reader()
    first = reader.read()  # [none-on-some-ranks]
    return first
