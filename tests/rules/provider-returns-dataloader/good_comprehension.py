from megatron.training import pretrain
from parts import Rain, model_provider, one_batch


def provide(samples):
    made = [Rain(part) for part in ("train", "val", "test")]
    return tuple(made)


pretrain(provide, model_provider, None, one_batch, args_defaults={"dataloader_type": "cyclic"})
