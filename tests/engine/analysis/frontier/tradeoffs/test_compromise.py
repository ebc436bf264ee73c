"""Two stakeholders: they agree within a stretch, and the compromise is the best of all by brute force."""

import numpy as np
import pandas as pd
import pytest

from engine.analysis.frontier.choice import choose, value
from engine.analysis.frontier.tradeoffs.compromise import compromise


def made(seed: int, n: int = 40) -> pd.DataFrame:
    """Points at random."""
    rng = np.random.default_rng(seed)
    numbers = {"sparsity": rng.random(n), "max_min": rng.random(n) / 5, "accuracy": rng.random(n)}
    return pd.DataFrame({"level": 1, "dense": -1, "point": np.arange(n), **numbers})


@pytest.mark.parametrize("seed", range(20))
def test_the_compromise_is_the_least_of_larger_costs(seed: int) -> None:
    points, weights = made(seed), (0.1, 30.0)
    one, other = (choose(points, 0.0, weight) for weight in weights)
    found = compromise(one, other)
    assert found is not None
    if one.chosen == other.chosen:
        assert found.agrees and found.place == one.chosen and found.costs == (0, 0)
        return
    larger = []
    for place in range(len(points)):
        shares = []
        for weight, mine, theirs in zip(weights, (one, other), (other, one), strict=True):
            worth = value(points["sparsity"], points["max_min"], weight)
            shares.append((worth[mine.chosen] - worth[place]) / (worth[mine.chosen] - worth[theirs.chosen]))
        larger.append(max(shares))
    assert max(found.costs) == pytest.approx(min(larger)) and max(found.costs) <= 1 + 1e-12
    assert larger[found.place] == pytest.approx(min(larger)) and one.frontier[found.place]


def test_units_do_not_matter_and_nothing_to_choose_is_nothing() -> None:
    points = made(3)
    one, other = choose(points, 0.0, 0.1), choose(points, 0.0, 30.0)
    scaled = points.assign(max_min=points["max_min"] * 10)
    found, again = compromise(one, other), compromise(choose(scaled, 0.0, 0.01), choose(scaled, 0.0, 3.0))
    assert found is not None and again is not None and found.place == again.place
    assert compromise(one, choose(points, 2.0, 1.0)) is None
