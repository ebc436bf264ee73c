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


def members_by_seed(
    seed: int = 0, n: int = 60, n_seeds: int = 6, effect: float = -0.2, seed_slope: float = 0.03
) -> tuple[pd.DataFrame, np.ndarray]:
    """Such writers and their changes seed by seed, (n_seeds, n); seeds differ in level and in slope."""
    rng = np.random.default_rng(seed)
    tilt = rng.random(n)
    own = rng.normal(0, 0.01 + 0.02 * tilt, n)
    slopes, levels = rng.normal(effect, seed_slope, (n_seeds, 1)), rng.normal(-0.1, 0.03, (n_seeds, 1))
    changes = levels + slopes * tilt + own + rng.normal(0, 0.03, (n_seeds, n))
    rows = {"abs_tilt": tilt, "before": 0.95, "after": 0.95 + changes.mean(axis=0), "series": np.arange(n) % 3}
    return pd.DataFrame(rows), changes
