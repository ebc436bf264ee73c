"""How far do members scatter: the interval of a typical one, and a round step of an attribute to speak of slopes in."""

import numpy as np
import pandas as pd


def typical_half_width(members: pd.DataFrame) -> float:
    """Half of the 95 % interval of the median member's accuracy after pruning; rows of `member_accuracy`."""
    return float(((members["after_high"] - members["after_low"]) / 2).median())


def round_step(values: pd.Series) -> float:
    """A round number near one standard deviation: 0.1, 0.2, 0.5, 1, ...; 1 where the values do not differ."""
    spread = float(values.std())
    if not spread > 0:
        return 1.0
    exponent = np.floor(np.log10(spread))
    return float(min((m * 10.0**e for e in (exponent, exponent + 1) for m in (1, 2, 5)), key=lambda s: abs(s - spread)))
