"""Arms: gaps and violations by hand, differences by seed, prices against none."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel

from engine.analysis.causes.mitigation_arms import against_none, arm_curves, arm_outcomes, groups_of_classes, price
from engine.analysis.columns import MODEL


def made_groups(arms: tuple[str, ...] = ("none", "after"), n_seeds: int = 5) -> pd.DataFrame:
    draw = np.random.default_rng(0)
    rows = []
    for arm in arms:
        for seed in range(n_seeds):
            for level in (0, 1):
                for group in ("a", "b", "c"):
                    rows.append(
                        {
                            **dict.fromkeys(MODEL, "same"),
                            "mitigation": arm,
                            "run": f"{arm}{seed}",
                            "seed": seed,
                            "level": level,
                            "sparsity": 0.9 * level,
                            "grouping": "series",
                            "group": group,
                            "test_n": 100,
                            "test_correct": int(draw.integers(60, 99)),
                            "test_loss": draw.uniform(0.1, 1),
                        }
                    )
    return pd.DataFrame(rows)


def test_outcomes_equal_gaps_by_hand() -> None:
    groups = made_groups()
    outcomes = arm_outcomes(groups).set_index(["run", "level"])
    for (run, level), rows in groups.groupby(["run", "level"]):
        found = outcomes.loc[run, level]
        rate = rows.set_index("group")["test_correct"] / 100
        dense = groups[(groups["run"] == run) & (groups["level"] == 0)].set_index("group")["test_loss"]
        rise = rows.set_index("group")["test_loss"] - dense
        assert found["accuracy"] == pytest.approx(rows["test_correct"].sum() / 300)
        assert found["gap"] == pytest.approx(rate.max() - rate.min())
        assert found["violation"] == pytest.approx(rise.max() - rise.min())
        assert found["n_groups"] == 3


def test_one_group_has_no_gap_and_an_empty_one_none() -> None:
    groups = made_groups()
    alone = arm_outcomes(groups[groups["group"] == "a"])
    assert len(alone) == groups[["run", "level"]].drop_duplicates().shape[0]
    assert alone["gap"].isna().all() and alone["violation"].isna().all()
    groups.loc[groups["group"] == "c", "test_n"] = 0
    assert arm_outcomes(groups)["n_groups"].tolist() == [2] * len(alone)


def test_no_dense_level_no_violation() -> None:
    found = arm_outcomes(made_groups().query("level == 1"))
    assert len(found) and found["violation"].isna().all() and found["gap"].notna().all()


def test_differences_are_paired_by_seed() -> None:
    outcomes = arm_outcomes(made_groups())
    change = against_none(outcomes).set_index("level")
    one = outcomes[outcomes["level"] == 1].set_index(["mitigation", "seed"])["gap"]
    test = ttest_rel(one["after"], one["none"]).confidence_interval()
    assert change.loc[1, "gap"] == pytest.approx((one["after"] - one["none"]).mean())
    assert (change.loc[1, "gap_low"], change.loc[1, "gap_high"]) == pytest.approx((test.low, test.high))
    lonely = outcomes[(outcomes["mitigation"] == "after") | (outcomes["seed"] < 2)]
    assert against_none(lonely)["n_seeds"].tolist() == [2, 2]


def test_curves_have_every_arm() -> None:
    curves = arm_curves(arm_outcomes(made_groups(("none", "before", "after, drop"))))
    assert set(curves["mitigation"]) == {"none", "before", "after, drop"} and len(curves) == 6


def test_classes_are_groups() -> None:
    classes = pd.DataFrame({"class": [0, 1], "n": [3, 4], "correct": [1, 2], "loss": [0.5, 0.25]})
    groups = groups_of_classes(classes)
    assert list(groups["group"]) == [0, 1] and set(groups["grouping"]) == {"class"}
    assert {"test_n", "test_correct", "test_loss"} <= set(groups)


def test_price_is_against_none() -> None:
    runs = pd.DataFrame(
        [
            {**dict.fromkeys(MODEL, "same"), "mitigation": arm, "seconds": seconds}
            for arm, seconds in (("none", 10.0), ("none", 14.0), ("after", 18.0), ("after", 18.0))
        ]
    )
    found = price(runs).set_index("mitigation")
    assert found.loc["none", "times"] == 1 and found.loc["after", "times"] == pytest.approx(1.5)
