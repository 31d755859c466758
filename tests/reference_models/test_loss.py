"""The weighted mean absolute error of the paper."""

import pytest
import torch

from onescience_check.reference_models.models.pangu import pangu_loss
from onescience_check.runtime.era5 import CHANNELS


@pytest.mark.parametrize(
    ("channel", "expected"),
    [
        ("2m_temperature", 0.25 * 3.00 / 4),
        ("mean_sea_level_pressure", 0.25 * 1.50 / 4),
        ("geopotential_500", 3.00 / 65),
        ("specific_humidity_850", 0.60 / 65),
        ("v_component_of_wind_50", 0.54 / 65),
    ],
)
def test_an_error_in_one_channel_has_the_weight_of_its_variable(channel, expected):
    target = torch.zeros(2, len(CHANNELS), 3, 4)
    output = target.clone()
    output[:, CHANNELS.index(channel)] = -1.0
    assert pangu_loss(output, target).item() == pytest.approx(expected)
