from megatron.training import pretrain
from parts import Rain, model_provider, one_batch
from torch.utils.data import DataLoader


def provide(samples):
    parts = (Rain("train"), Rain("val"), Rain("test"))
    wrapped = [DataLoader(part, batch_size=2, shuffle=True) for part in parts]
    return tuple(wrapped)  # [provider-returns-dataloader]


pretrain(provide, model_provider, None, one_batch, args_defaults={"dataloader_type": "cyclic"})
