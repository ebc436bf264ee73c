"""Which class falls first over resampled seeds, against the curves of the same seeds drawn by hand."""

import numpy as np
import pandas as pd
import pytest

from engine.analysis.curves.class_curves import class_curves
from engine.analysis.curves.first_to_fall import fallen_for_good, first_fall, first_falls
from tests.support.study_tables import study_tables


def one_model(seed: int = 0, n: int = 60) -> pd.DataFrame:
    """The classes of one noisy model."""
    _, classes = study_tables(seed=seed, n=n)
    first = classes.iloc[0]
    same = (classes["technique"] == first["technique"]) & (classes["treatment"] == first["treatment"])
    return classes[same].reset_index(drop=True)


def test_a_dip_that_recovers_is_no_fall() -> None:
    table = pd.DataFrame({"level": [0, 1, 2, 3, 4] * 2, "class": [0] * 5 + [1] * 5, "dense_accuracy": 0.9})
    table = table.assign(accuracy=[0.9, 0.7, 0.9, 0.84, 0.8, 0.9, 0.9, 0.88, 0.89, 0.5])
    fallen = fallen_for_good(table)
    assert list(zip(fallen["class"], fallen["level"], strict=True)) == [(0, 3), (0, 4), (1, 4)]


@pytest.mark.parametrize("drop", [0.02, 0.05, 0.15])
def test_shares_are_those_of_curves_of_drawn_seeds(drop: float) -> None:
    """The same draws, each made into a table and curves of its own."""
    classes = one_model()
    seeds = np.sort(classes["seed"].unique())
    draws = np.random.default_rng(0).multinomial(len(seeds), np.full(len(seeds), 1 / len(seeds)), 60)
    named = []
    for draw in draws:
        parts = [
            classes[classes["seed"] == seed].assign(run=f"{seed}-{again}", seed=100 * again + seed)
            for seed, n in zip(seeds, draw, strict=True)
            for again in range(n)
        ]
        fall = first_fall(class_curves(pd.concat(parts, ignore_index=True)), drop)
        named.append(None if fall is None else int(fall["class"]))
    expected = pd.Series([name for name in named if name is not None], dtype=int).value_counts() / 60
    found = first_falls(classes, drop, n_resamples=60)
    assert found.to_dict() == pytest.approx(expected.to_dict()) and len(expected)
    assert found.is_monotonic_decreasing


def test_a_class_that_falls_in_every_seed_is_always_first() -> None:
    classes = one_model()
    classes.loc[(classes["class"] == 1) & (classes["level"] > 0), "correct"] = 0
    assert first_falls(classes).to_dict() == {1: 1.0}


def test_a_class_that_recovers_has_not_fallen() -> None:
    classes = one_model().assign(correct=lambda rows: rows["n"])
    classes.loc[(classes["class"] == 1) & (classes["level"] == 1), "correct"] = 0
    assert first_falls(classes).empty


def test_levels_that_a_seed_lacks_are_left_to_the_others() -> None:
    classes = one_model()
    last, seed = classes["level"].max(), classes["seed"].iloc[0]
    fewer = classes[(classes["level"] < last) | (classes["seed"] != seed)]
    assert first_falls(fewer).sum() <= 1


def test_one_seed_or_no_dense_level_gives_nothing() -> None:
    classes = one_model()
    assert first_falls(classes[classes["seed"] == classes["seed"].iloc[0]]).empty
    assert first_falls(classes[classes["level"] > 0]).empty
