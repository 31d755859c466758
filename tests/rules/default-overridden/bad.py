from megatron.training import pretrain

DEFAULTS = {"dataloader_type": "cyclic", "seed": 7}  # [default-overridden]


def main(datasets, model_provider, forward_step):
    pretrain(datasets, model_provider, None, forward_step, args_defaults=DEFAULTS)
