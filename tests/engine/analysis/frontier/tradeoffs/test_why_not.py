"""Why a point is not chosen: each reason is true of the point by brute force."""

import numpy as np
import pandas as pd
import pytest

from engine.analysis.frontier.choice import choose
from engine.analysis.frontier.floors import broken
from engine.analysis.frontier.tradeoffs import why_not as reasons
from engine.analysis.frontier.tradeoffs.why_not import why_not
from engine.analysis.frontier.weight_ranges import change_over_weights


@pytest.mark.parametrize("seed", range(10))
def test_every_reason_is_true(seed: int) -> None:
    rng, n = np.random.default_rng(seed), 30
    numbers = {"sparsity": rng.random(n).round(1), "max_min": rng.random(n).round(2), "accuracy": rng.random(n)}
    points = pd.DataFrame({"level": 1, "dense": -1, "point": np.arange(n), **numbers})
    points.loc[0, "max_min"] = np.nan
    points.loc[0, "accuracy"] = 1.0
    choice = choose(points, 0.3, 1.0)
    wins, floors = change_over_weights(points, choice), broken(points, {"accuracy": 0.3})
    seen = set()
    for place in range(n):
        found = why_not(points, choice, wins, floors, place)
        row = points.iloc[place]
        seen.add(found.reason)
        if found.reason == reasons.BREAKS:
            assert row["accuracy"] < 0.3 and found.broken == "accuracy below 30.0 %"
        elif found.reason == reasons.BEATEN:
            by = points.iloc[found.beaten_by]
            assert by["sparsity"] >= row["sparsity"] and by["max_min"] <= row["max_min"] and by["accuracy"] >= 0.3
            assert (by["sparsity"], by["max_min"]) != (row["sparsity"], row["max_min"])
        elif found.reason == reasons.OTHER_WEIGHTS:
            low, high = found.weights
            within = choose(points, 0.3, (low + min(high, low + 1)) / 2)
            assert place in (within.chosen, *within.twins)
        elif found.reason == reasons.NEVER:
            for weight in np.geomspace(1e-3, 1e3, 200):
                assert place != choose(points, 0.3, float(weight)).chosen
        elif found.reason == reasons.CHOSEN:
            assert place == choice.chosen
    assert {reasons.CHOSEN, reasons.BREAKS, reasons.BEATEN, reasons.UNKNOWN} <= seen
