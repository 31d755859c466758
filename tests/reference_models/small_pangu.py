"""A small Pangu-Weather, plain and in stages, for the tests."""

SMALL = {
    "img_size": (45, 96),
    "patch_size": (2, 4, 4),
    "embed_dim": 16,
    "num_heads": (2, 4, 4, 2),
    "window_size": (2, 6, 12),
    "depths": (2, 4, 4, 2),
}


def make_config(**changes):
    from megatron.core.transformer import TransformerConfig

    fields = {"num_layers": 4, "hidden_size": 16, "num_attention_heads": 4, "use_cpu_initialization": True}
    return TransformerConfig(**fields | changes)


RECOMPUTE = {"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1}


def make_stages(config, **arguments):
    from onescience_check.reference_models.models import pangu_distributed_4stage as package

    stages = [package.Pangu_stage0, package.Pangu_stage1, package.Pangu_stage2, package.Pangu_stage3]
    return [stage(**SMALL | arguments, config=config) for stage in stages]


def run(stages, x):
    """Hand the tuple of each stage to the next, as the pipeline does, in a list."""
    output = x
    for index, stage in enumerate(stages):
        if index:
            stage.set_input_tensor(list(output))
        output = stage(x if index == 0 else None)
    return output


def plain_names(stages):
    return {name: p for stage in stages for name, p in stage.named_parameters()}


def load_plain(stages, plain):
    for stage in stages:
        own = stage.state_dict()
        stage.load_state_dict(
            {name: plain.state_dict()[name] for name in own if not name.endswith("_extra_state")}
        )


def gradient_scale(gradients, name):
    """Size of the terms that a gradient sums up.

    The bias of k adds the same number to all scores of a query, which softmax ignores: its gradient is zero
    but for rounding, so the terms are measured at the weight of the same layer.
    """
    return gradients[name.replace("k_proj.bias", "k_proj.weight")].abs().max().item()
