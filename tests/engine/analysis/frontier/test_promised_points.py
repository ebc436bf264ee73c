"""Promised points: the promise is broken no more often than it says, and the table says where testing stopped."""

import numpy as np
import pandas as pd
import pytest

from engine.analysis.frontier.promised_points import EVERYBODY, PromisedPoints, promised_points

SPARSITY = (0.0, 0.5, 0.8, 0.9, 0.95)
TRUE_LOSS = {"gentle": (0.0, 0.0, 0.01, 0.04, 0.12), "harsh": (0.0, 0.02, 0.06, 0.2, 0.4)}
N, LIMIT, DELTA = 4000, 0.05, 0.1
NAMES = ("urban", "rural")


def drawn(rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Points of two techniques, and what two groups of examples show of them; rural loses all, urban nothing."""
    points, means = [], []
    for technique, losses in TRUE_LOSS.items():
        for level, (sparsity, loss) in enumerate(zip(SPARSITY, losses, strict=True)):
            number = len(points)
            points.append((number, technique, "rewind", "none", level, sparsity, 0.95 - loss / 2))
            for place, name in enumerate(NAMES):
                broken = rng.binomial(N, loss * place) / N
                means.append((number, place, name, N, 0.95 - broken, 0.95))
    columns = ["point", "technique", "treatment", "mitigation", "level", "sparsity", "accuracy"]
    table = pd.DataFrame(means, columns=["point", "class", "name", "n", "accuracy", "dense_accuracy"])
    return pd.DataFrame(points, columns=columns), table


def promised(seed: int, **limits: float) -> tuple[pd.DataFrame, PromisedPoints]:
    points, means = drawn(np.random.default_rng(seed))
    return points, promised_points(points, means, limits or {"loss": LIMIT}, DELTA)


def test_the_promise_is_kept() -> None:
    broken = 0
    for seed in range(300):
        points, found = promised(seed)
        if found.chosen is not None:
            row = points.iloc[found.chosen]
            broken += TRUE_LOSS[row["technique"]][row["level"]] > LIMIT
    assert broken / 300 <= DELTA


def test_the_sparsest_point_that_surely_keeps_it_is_chosen() -> None:
    points, found = promised(1)
    assert tuple(points.iloc[found.chosen][["technique", "level"]]) == ("gentle", 2)
    table = found.table.set_index("technique")
    assert table.loc["gentle", "stopped"] == 3 and table.loc["harsh", "group"] == "rural"
    assert found.delta == DELTA / 2 and (table["p"] > found.delta).all() and not found.kept[[0, 3, 4]].any()


def test_accuracy_and_the_lowest_group_may_be_promised_too() -> None:
    points, found = promised(1, lowest=0.9, accuracy=0.93)
    assert points["technique"].iloc[found.chosen] == "gentle"
    assert set(found.table["group"]) <= {"rural", EVERYBODY}
    assert promised(1, accuracy=0.99)[1].chosen is None


def test_without_a_floor_nothing_is_promised() -> None:
    points, means = drawn(np.random.default_rng(0))
    assert promised_points(points, means, {}).chosen is None


def test_a_group_without_a_baseline_breaks_the_promise() -> None:
    points, means = drawn(np.random.default_rng(0))
    found = promised_points(points, means.assign(dense_accuracy=np.nan), {"loss": 0.5})
    assert found.chosen is None and found.table["p"].eq(1).all()


def test_a_point_without_rows_stops_its_sequence() -> None:
    points, means = drawn(np.random.default_rng(0))
    found = promised_points(points, means[means["point"] != 1], {"loss": 0.5})
    assert pd.isna(found.table.set_index("technique").loc["gentle", "kept"])
    assert found.table.set_index("technique").loc["gentle", "stopped"] == pytest.approx(1)
