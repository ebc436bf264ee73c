"""Writers made up: what they lose depends on tilt as planted."""

import numpy as np
import pandas as pd


def members(seed: int = 0, n: int = 60, effect: float = -0.2) -> pd.DataFrame:
    """Writers in three series whose accuracy falls with tilt by `effect` more after pruning, unevenly noisy."""
    rng = np.random.default_rng(seed)
    tilt = rng.random(n)
    before = 0.97 - 0.02 * tilt + rng.normal(0, 0.01, n)
    after = before - 0.1 + effect * tilt + rng.normal(0, 0.01 + 0.05 * tilt, n)
    return pd.DataFrame({"abs_tilt": tilt, "before": before, "after": after, "series": np.arange(n) % 3})
