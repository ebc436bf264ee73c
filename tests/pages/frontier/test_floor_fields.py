"""The slider of a floor holds whatever value the address asks for."""

import numpy as np
import pytest

from engine.analysis.frontier.floors import FLOORS
from pages.views.frontier.floor_fields import FloorFacts, slider_ends


@pytest.mark.parametrize("value", [None, 0.0, 0.04, 31.4159, 93.25, 99.95, 99.999, 100.0])
@pytest.mark.parametrize("name", ["accuracy", "loss"])
@pytest.mark.parametrize("most", [79.9, 96.83, 99.95, 100.0])
def test_ends_hold_the_value_once_it_is_rounded(name: str, most: float, value: float | None) -> None:
    low, high = slider_ends(FLOORS[name], FloorFacts(12.34, most, np.nan), value)
    assert low < high
    assert value is None or low <= round(value, 1) <= high
    assert low == round(low, 1) and high == round(high, 1)
