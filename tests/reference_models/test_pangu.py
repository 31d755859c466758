"""The plain model: the physics of the grid, any size, and the full size of the paper."""

import pytest
import torch

from onescience_check.reference_models.models.pangu import Pangu
from onescience_check.reference_models.models.pangu.grids import INPUT_CHANNELS, OUTPUT_CHANNELS, token_grids
from onescience_check.reference_models.modules import OneFuser

SMALL = {"embed_dim": 12, "num_heads": (2, 4, 4, 2), "depths": (2, 2, 2, 2)}


def test_turning_the_earth_by_whole_windows_turns_the_forecast():
    """A window of 12 tokens on the coarse grid is 12 * 2 * 4 = 96 cells; all blocks, shifted too, agree."""
    torch.manual_seed(0)
    model = Pangu(img_size=(45, 192), **SMALL).double().eval()
    for name, parameter in model.named_parameters():
        if name.endswith("bias_table"):
            torch.nn.init.normal_(
                parameter
            )  # at their small start, biases could not tell a wrong window from a right one
    x = torch.randn(1, INPUT_CHANNELS, 45, 192, dtype=torch.float64)
    with torch.no_grad():
        turned_after = model(x).roll(96, dims=-1)
        turned_before = model(x.roll(96, dims=-1))
        quarter_turn = model(x.roll(48, dims=-1)).roll(48, dims=-1)
    # Every number is computed from the same operands; only sums inside kernels may run in another order.
    torch.testing.assert_close(turned_before, turned_after, rtol=1e-10, atol=1e-10)
    assert (
        quarter_turn - turned_after
    ).abs().max() > 1e-3  # half a window: the biases are not the same there


@pytest.mark.parametrize("img_size", [(37, 50), (24, 96), (9, 13)])
def test_any_grid_keeps_its_size_and_reaches_every_parameter(img_size):
    torch.manual_seed(0)
    model = Pangu(img_size=img_size, drop_path=0.0, **SMALL)
    y = model(torch.randn(2, INPUT_CHANNELS, *img_size))
    assert y.shape == (2, OUTPUT_CHANNELS, *img_size)
    y.square().mean().backward()
    assert [
        name for name, p in model.named_parameters() if p.grad is None or not p.grad.isfinite().all()
    ] == []


def test_one_column_reaches_the_other_side_of_the_date_line():
    """Cells 0 and X - 1 are neighbours: a change in one must be felt in the other, near and far alike."""
    torch.manual_seed(0)
    model = Pangu(img_size=(24, 192), **SMALL).double().eval()
    x = torch.randn(1, INPUT_CHANNELS, 24, 192, dtype=torch.float64)
    changed = x.clone()
    changed[..., :4] += 1.0
    with torch.no_grad():
        effect = (model(changed) - model(x)).abs().amax(dim=(0, 1, 2))
    assert effect[-4:].min() > 1e-6


def test_full_size_has_the_shapes_and_the_weights_of_the_paper():
    with torch.device("meta"):
        model = Pangu()
        y = model(torch.empty(1, INPUT_CHANNELS, 721, 1440))
    assert y.shape == (1, 69, 721, 1440)
    assert token_grids((721, 1440), (2, 4, 4)) == ((8, 181, 360), (8, 91, 180))
    # Methods: four models of 256 million parameters together.
    assert sum(p.numel() for p in model.parameters()) == pytest.approx(64e6, rel=0.01)


def test_drop_path_grows_over_all_sixteen_blocks():
    with torch.device("meta"):
        model = Pangu()
    rates = [m.rate for m in model.modules() if type(m).__name__ == "DropPath"]
    assert rates == pytest.approx([0.2 * block / 15 for block in range(16)])


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="multiple of num_heads"):
        Pangu(img_size=(24, 48), embed_dim=10, num_heads=(3, 4, 4, 3))
    with pytest.raises(ValueError, match="unknown fuser style 'PangoFuser'"):
        OneFuser(style="PangoFuser")
    with pytest.raises(ValueError, match=r"built for \(1, 24, 48\)"):
        Pangu(img_size=(24, 48), **SMALL)(torch.randn(1, INPUT_CHANNELS, 24, 47))
