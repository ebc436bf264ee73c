"""Changes seed by seed against plain loops, and the spread between seeds where it is known."""

import numpy as np
import pandas as pd
import pytest

from engine.analysis.members.accuracy import member_accuracy
from engine.analysis.members.seed_spread import (
    joint_freedom,
    joint_variance,
    positive_part,
    seed_changes,
    seed_covariance,
)


def made(n_seeds: int = 3) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Digits of eight writers, some of nobody, and predictions before and after."""
    rng = np.random.default_rng(0)
    examples = pd.DataFrame({"label": rng.integers(0, 3, 200), "writer": pd.array(rng.integers(0, 8, 200), "Int64")})
    examples.loc[:3, "writer"] = pd.NA
    before, after = (rng.integers(0, 3, (n_seeds, 200)) for _ in range(2))
    return examples, before, after


def test_mean_over_seeds_is_the_change_of_the_table() -> None:
    examples, before, after = made()
    table = member_accuracy(examples, before, after, "writer").iloc[::-1].iloc[:5]
    by_seed = seed_changes(examples, before, after, "writer", table["writer"])
    assert by_seed.shape == (3, 5) and by_seed.mean(axis=0) == pytest.approx(table["change"].to_numpy())
    alone = member_accuracy(examples, before[1], after[1], "writer").set_index("writer")["change"]
    assert by_seed[1] == pytest.approx(alone[table["writer"]].to_numpy())


def test_other_seeds_before_are_their_mean() -> None:
    examples, before, after = made()
    table = member_accuracy(examples, before[:2], after, "writer")
    by_seed = seed_changes(examples, before[:2], after, "writer", table["writer"])
    assert by_seed.mean(axis=0) == pytest.approx(table["change"].to_numpy())


def test_seeds_add_their_own_spread_and_not_the_members_noise() -> None:
    """The mean over draws is the variance of the seeds' slopes over their number, whatever the noise within."""
    rng = np.random.default_rng(1)
    x = np.linspace(-1, 1, 40)
    design = np.column_stack([x, np.ones(40)])
    added = [
        seed_covariance(design, rng.normal(0, 0.3, (6, 1)) * x + rng.normal(0, 1, (6, 40)))[0, 0] for _ in range(3000)
    ]
    assert np.mean(added) == pytest.approx(0.09 / 6, rel=0.1)
    assert (seed_covariance(design, np.ones((1, 40))) == 0).all()


def test_no_direction_has_a_negative_variance() -> None:
    assert positive_part(np.array([[1.0, 0.0], [0.0, -1.0]])) == pytest.approx(np.array([[1.0, 0.0], [0.0, 0.0]]))


def test_variance_of_both_is_unbiased_and_keeps_half_of_the_members() -> None:
    assert joint_variance(1.0, 0.4, 0.1, 50, 6)[0] == pytest.approx(1.3)
    assert joint_variance(1.0, 0.1, 0.4, 50, 6)[0] == pytest.approx(0.7), "below the members' alone"
    assert joint_variance(1.0, 0.0, 2.0, 50, 6)[0] == 0.5
    assert joint_variance(1.0, 9.0, 9.0, 50, 1) == (1.0, 50)
    assert joint_variance(1e-9, 1.0, 0.0, 50, 6)[1] == pytest.approx(5)


def test_freedom_is_that_of_the_part_that_matters() -> None:
    assert joint_freedom(1.0, 0.0, 50, 6) == 50 and joint_freedom(1e-9, 1.0, 50, 6) == pytest.approx(5)
