"""Weights of OneScience's own Pangu-Weather, by the layout that its files and the published pseudocode have."""

import re

import pytest
import torch

from onescience_check.reference_models.models.pangu import Pangu
from onescience_check.reference_models.models.pangu.onescience import from_onescience, main
from onescience_check.reference_models.modules.attention.window_attention import earth_position_bias

WINDOW = (2, 3, 4)


def published_index(window):
    """Place in the flat table of the bias of each pair (query, key), after the published pseudocode."""
    cells = torch.cartesian_prod(*(torch.arange(side) for side in window))
    (w_p, w_y, w_x), query, key = window, cells[:, None], cells[None]
    pressure = query[..., 0] + key[..., 0] * w_p
    latitude = query[..., 1] + key[..., 1] * w_y
    longitude = query[..., 2] - key[..., 2] + w_x - 1
    return (pressure * w_y**2 + latitude) * (2 * w_x - 1) + longitude


@pytest.fixture(scope="module")
def theirs():
    """A state dict with their names and shapes, made from those of our model."""
    torch.manual_seed(0)
    state = {}
    for name, value in small_pangu().state_dict().items():
        name = name.replace(".embedding.", ".embedder.").replace(".attn.attention.", ".attn.attentioner.")
        name = re.sub(r"\.mlp\.mlp\.", ".mlp.", name)
        if ".q_proj." in name:
            state[name.replace(".q_proj.", ".qkv.")] = torch.randn(3 * len(value), *value.shape[1:])
        elif name.endswith("bias_table"):
            types, heads = value.shape[:2]
            state[name] = torch.randn(value.numel() // types // heads, types, heads)
            state[name.replace("bias_table", "index")] = published_index(WINDOW)
        elif ".k_proj." not in name and ".v_proj." not in name:
            state[name] = torch.randn_like(value)
    second = {".fuser.": ".Fuser.", ".sampler.": ".Sampler.", ".recovery.": ".Reconvery."}
    for name, value in list(state.items()):  # their wrappers hold the module under two names
        for one, other in second.items():
            if one in name:
                state[name.replace(one, other)] = value
    return state


def small_pangu():
    sizes = {"img_size": (24, 32), "patch_size": (2, 4, 4), "window_size": WINDOW, "num_heads": (1, 2, 2, 1)}
    return Pangu(embed_dim=4, depths=(1, 2, 1, 1), **sizes)


def test_all_weights_arrive(theirs, tmp_path, capsys):
    torch.save(
        {"model_state_dict": {f"module.{name}": value for name, value in theirs.items()}},
        tmp_path / "model.pth",
    )
    words = [str(tmp_path / "model.pth"), str(tmp_path / "plain.pt")]
    assert (
        main(words) == 1 and "is not of windows of [2, 6, 12] cells: give --window" in capsys.readouterr().err
    )
    assert main([*words, "--window", *map(str, WINDOW)]) == 0
    model = small_pangu()
    model.load_state_dict(torch.load(tmp_path / "plain.pt", weights_only=True))  # strict
    assert main(words) == 1 and "exists and is left alone" in capsys.readouterr().err
    qkv = theirs["layer2.fuser.blocks.1.transformer.attn.attentioner.qkv.weight"]
    attention = model.layer2.fuser.blocks[1].transformer.attn.attention
    projections = [getattr(attention, f"{part}_proj").weight for part in "qkv"]
    assert torch.equal(torch.cat(projections), qkv)
    masks = theirs["patchembed2d.embedder.proj.weight"]  # land, soil, topography
    assert torch.equal(model.patchembed2d.embedding.proj.weight[:, 4:], masks[:, [4, 6, 5]])


def test_the_position_bias_of_each_pair_is_the_same(theirs):
    name = "layer1.fuser.blocks.0.transformer.attn.{}.earth_position_bias_table"
    table = theirs[name.format("attentioner")]
    expected = table[published_index(WINDOW)].permute(2, 3, 0, 1)  # T, H, N, N
    ours = earth_position_bias(from_onescience(theirs, WINDOW)[name.format("attention")], None)
    assert torch.equal(ours[0], expected.flatten(0, 1))
