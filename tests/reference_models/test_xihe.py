"""The plain Xihe: what the mask keeps apart, the physics of the grid, any size, and the full size of the paper."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from onescience_check.reference_models.models.xihe import Xihe, xihe_loss
from onescience_check.reference_models.models.xihe.grids import token_grids
from onescience_check.reference_models.models.xihe.mask import change_mask, load_mask
from onescience_check.reference_models.modules import OneEmbedding, OneFuser
from onescience_check.reference_models.modules.attention.earthattention3d import EarthAttention3D
from onescience_check.reference_models.modules.attention.window_attention import earth_position_bias
from onescience_check.reference_models.modules.attention.windows import WindowGrid
from onescience_check.reference_models.modules.sample.pangudownsample import neighbours_to_channels

from .small_xihe import SMALL, make_mask

IMG_SIZE = SMALL["img_size"]
WINDOW = (1, 3, 4)


def with_large_biases(model):
    for name, parameter in model.named_parameters():
        if name.endswith("bias_table"):
            torch.nn.init.normal_(parameter)
    return model


def test_each_token_has_the_mask_of_its_own_cells():
    mask = make_mask(IMG_SIZE)
    fine, coarse = token_grids(IMG_SIZE, SMALL["patch_size"])
    embedding = OneEmbedding(
        style="PanguEmbedding", img_size=IMG_SIZE, patch_size=SMALL["patch_size"], variables=1, embed_dim=1
    )
    torch.nn.init.ones_(embedding.embedding.proj.weight)
    torch.nn.init.zeros_(embedding.embedding.proj.bias)
    cells = embedding(mask.float()[None, None])  # ocean cells in each patch
    mask1 = change_mask(mask, fine)
    assert mask1.shape == fine[1:] and torch.equal(mask1.flatten(), cells.flatten() > 0)
    below = neighbours_to_channels(cells, fine, coarse).sum(-1)
    mask2 = change_mask(mask1, coarse)
    assert mask2.shape == coarse[1:] and torch.equal(mask2.flatten(), below.flatten() > 0)
    assert 0 < mask1.float().mean() < 1 and 0 < mask2.float().mean() < 1


@pytest.mark.parametrize("resolution", [(1, 7, 8), (1, 9, 10)], ids=["whole windows", "padded"])
@pytest.mark.parametrize("shift", [(0, 0, 0), (0, 1, 2)])
def test_masked_attention_is_the_formula_pair_by_pair(resolution, shift):
    """Query and key meet when both lie in one window, as neighbours on the earth, and on the same side of the coast."""
    torch.manual_seed(0)
    grid = WindowGrid(resolution, WINDOW, shift)
    module = EarthAttention3D(dim=8, grid=grid, num_heads=2).double()
    torch.nn.init.normal_(module.earth_position_bias_table)
    _, rows, columns = resolution
    ocean = torch.rand(rows, columns) > 0.5
    x = torch.randn(2, rows * columns, 8, dtype=torch.float64)
    q, k, v = (
        layer(x).view(2, rows, columns, 2, 4) for layer in (module.q_proj, module.k_proj, module.v_proj)
    )
    bias = earth_position_bias(module.earth_position_bias_table, None).view(grid.window_types, 2, 12, 12)
    expected = torch.empty_like(q)
    _, padded_rows, padded_columns = grid.padded
    north, west = (padded_rows - rows) // 2, (padded_columns - columns) // 2
    for y in range(rows):
        # The window of a row starts `shift` late; what is shifted over the pole comes back at the other end.
        place = (y + north - shift[1]) % padded_rows
        window_row, inner_row = divmod(place, 3)
        keys_y = [y + step - inner_row for step in range(3)]
        for column in range(columns):
            inner_column = ((column - shift[2]) % columns + west) % 4
            scores, values = [], []
            for key_row, key_y in enumerate(keys_y):
                if not 0 <= key_y < rows:
                    continue
                for key_column in range(4):
                    key_x = (column + key_column - inner_column) % columns
                    if ocean[key_y, key_x] != ocean[y, column]:
                        continue
                    query, key = inner_row * 4 + inner_column, key_row * 4 + key_column
                    dot = (q[:, y, column] * k[:, key_y, key_x]).sum(-1) / 2  # sqrt of 4 channels
                    scores.append(dot + bias[window_row, :, query, key])
                    values.append(v[:, key_y, key_x])
            weights = torch.stack(scores).softmax(0)
            expected[:, y, column] = (weights[..., None] * torch.stack(values)).sum(0)
    expected = module.proj(expected.flatten(3).flatten(1, 2))
    # Both sum fewer than 100 products of numbers of order 1 in float64 (2e-16 each).
    torch.testing.assert_close(module(x, ocean), expected, rtol=1e-12, atol=1e-12)


def small_fuser(resolution=(1, 9, 12), **changes):
    arguments = {
        "dim": 8,
        "input_resolution": resolution,
        "num_local": 2,
        "num_global": 1,
        "num_heads": 2,
        "num_groups": 3,
        "window_size": WINDOW,
        "drop_path": [0.0] * 4,
    }
    torch.manual_seed(0)
    return with_large_biases(OneFuser(style="XiheFuser", **arguments | changes)).double().eval()


def test_a_block_carries_nothing_from_land_to_the_ocean():
    fuser = small_fuser()
    ocean = torch.rand(9, 12) > 0.4
    x = torch.randn(1, 108, 8, dtype=torch.float64)
    changed = torch.where(ocean.flatten()[None, :, None], x, x + 10.0)
    with torch.no_grad():
        before, after = (fuser({"x": value, "mask": ocean})[0, ocean.flatten()] for value in (x, changed))
        unmasked = fuser({"x": changed, "mask": None})[0, ocean.flatten()]
    # What is blocked has weight 0 exactly; only the order of sums could differ, and it does not.
    assert torch.equal(before, after)
    assert (unmasked - after).abs().max() > 1e-3


def test_far_places_meet_in_the_global_part():
    fuser = small_fuser(num_local=0, drop_path=[])
    x = torch.randn(1, 108, 8, dtype=torch.float64, requires_grad=True)
    fuser({"x": x, "mask": torch.ones(9, 12, dtype=torch.bool)})[0, 0].sum().backward()
    assert (x.grad[0].abs().amax(-1) > 0).all()


def test_blocks_take_a_dict_or_an_object_with_or_without_a_mask():
    fuser = small_fuser()
    x = torch.randn(1, 108, 8, dtype=torch.float64)
    ocean = torch.rand(9, 12) > 0.4
    given = {"x": x, "mask": ocean}
    with torch.no_grad():
        masked = fuser(given)
        assert given["x"] is x, "the caller's dict stays as it is"
        assert torch.equal(fuser(SimpleNamespace(x=x, mask=ocean)), masked)
        assert torch.equal(fuser({"x": x}), fuser(SimpleNamespace(x=x)))
    assert not torch.equal(fuser({"x": x}), masked)


def test_turning_the_earth_by_whole_windows_turns_the_forecast():
    """A window of 4 tokens on the coarse grid is 4 * 2 * 4 = 32 cells."""
    mask = make_mask(IMG_SIZE)
    x = torch.randn(1, 6, *IMG_SIZE, dtype=torch.float64)
    results = []
    for turn in (0, 32, 16):
        torch.manual_seed(0)
        model = with_large_biases(Xihe(**SMALL, mask_full=mask.roll(turn, dims=-1))).double().eval()
        with torch.no_grad():
            results.append(model(x.roll(turn, dims=-1)).roll(-turn, dims=-1))
    torch.testing.assert_close(results[1], results[0], rtol=1e-10, atol=1e-10)
    assert (results[2] - results[0]).abs().max() > 1e-5  # half a window: other pairs meet


@pytest.mark.parametrize("img_size", [(21, 70), (9, 13)])
@pytest.mark.parametrize("masked", [True, False])
def test_any_grid_keeps_its_size_and_reaches_every_parameter(img_size, masked):
    torch.manual_seed(0)
    mask = make_mask(img_size) if masked else None
    model = Xihe(**SMALL | {"img_size": img_size}, drop_path=0.0, mask_full=mask)
    y = model(torch.randn(2, 6, *img_size))
    assert y.shape == (2, 4, *img_size)
    y.square().mean().backward()
    assert [
        name for name, p in model.named_parameters() if p.grad is None or not p.grad.isfinite().all()
    ] == []


def test_a_mask_may_be_a_path_an_array_or_a_tensor(tmp_path):
    mask = make_mask(IMG_SIZE)
    np.save(tmp_path / "mask.npy", mask.numpy().astype(np.float32))
    given = [str(tmp_path / "mask.npy"), mask.numpy(), mask, mask.float()]
    assert all(torch.equal(load_mask(value, IMG_SIZE), mask) for value in given)
    model = Xihe(**SMALL, mask_full=given[0])
    assert torch.equal(model.mask_full, mask) and "mask_full" not in model.state_dict()
    assert model.bfloat16().mask_full.dtype == torch.bool


def test_wrong_masks_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"shape \[45, 90\], the fields have \[45, 96\]"):
        Xihe(**SMALL, mask_full=torch.ones(45, 90))
    with pytest.raises(ValueError, match=r"has no ocean"):
        load_mask(np.zeros((4, 4)), (4, 4))
    with pytest.raises(ValueError, match=r"no mask of land and ocean in .*away\.npy"):
        load_mask(str(tmp_path / "away.npy"), (4, 4))
    (tmp_path / "broken.npy").write_bytes(b"no array")
    with pytest.raises(ValueError, match=r"broken\.npy"):
        load_mask(str(tmp_path / "broken.npy"), (4, 4))


def test_full_size_has_the_shapes_of_the_paper():
    with torch.device("meta"):
        model = Xihe()
        y = model(torch.empty(1, 96, 2041, 4320))
    assert y.shape == (1, 94, 2041, 4320)
    assert token_grids((2041, 4320), (6, 12)) == ((1, 341, 360), (1, 171, 180))
    rates = [m.rate for m in model.modules() if type(m).__name__ == "DropPath"]
    assert rates == pytest.approx([0.2 * block / 15 for block in range(16)])


def test_the_loss_counts_the_ocean_alone():
    ocean = make_mask((8, 12))
    target = torch.randn(2, 3, 8, 12)
    output = target + torch.where(ocean, 0.5, 100.0)
    assert xihe_loss(output, target, ocean).item() == pytest.approx(0.5, rel=1e-5)
    assert xihe_loss(target + 0.5, target).item() == pytest.approx(0.5, rel=1e-5)
