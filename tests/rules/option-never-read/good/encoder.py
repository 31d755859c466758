def build(config):
    """From Megatron's configuration, which has the options of its own fields."""
    return config.encoder_type.startswith("conv")
