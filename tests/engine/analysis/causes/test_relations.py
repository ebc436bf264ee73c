"""Causes: correlations equal scipy's, curves equal means by hand, what cannot be said has a reason."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from engine.analysis.causes.relations import (
    FEW_GROUPS,
    NO_SPREAD,
    RELATIONS,
    bound_facts,
    cause_curves,
    correlation,
    sizes_hardly_differ,
    skipped_groups,
)
from engine.analysis.columns import MODEL


def made_groups(n_groups: int = 6, n_seeds: int = 4, levels: tuple[int, ...] = (0, 1), random: int = 0) -> pd.DataFrame:
    """Diagnosed groups of one model: accuracy and gradient norm go against each other, all else is noise."""
    draw = np.random.default_rng(random)
    rows = []
    for seed in range(n_seeds):
        for level in levels:
            for group in range(n_groups):
                hard = group + draw.normal(0, 0.8)
                rows.append(
                    {
                        **dict.fromkeys(MODEL, "same"),
                        "run": f"run{seed}",
                        "seed": seed,
                        "level": level,
                        "sparsity": 0.5 * level,
                        "grouping": "class",
                        "group": str(group),
                        "n": 100 + 10 * group,
                        "test_n": 50,
                        "test_correct": round(45 - 3 * hard),
                        "gradient_norm": 1 + hard,
                        "eigenvalue": draw.uniform(1, 9),
                        "margin": draw.uniform(0, 1),
                        "closeness": 0.1,
                        "loss": 0.2 * hard,
                        "excessive_loss": 0.1 * hard * level,
                        "bound": 2.0 * level,
                        "reason": "",
                    }
                )
    return pd.DataFrame(rows)


@pytest.mark.parametrize("relation", RELATIONS, ids=lambda relation: relation.figure)
def test_correlation_is_the_mean_of_scipys_by_seed(relation) -> None:  # type: ignore[no-untyped-def]
    groups = made_groups().query("level == 0")
    found = correlation(groups, relation)
    table = groups.assign(accuracy=groups["test_correct"] / groups["test_n"])
    each = [spearmanr(rows[relation.x], rows[relation.y]).statistic for _, rows in table.groupby("run")]
    assert found.value == pytest.approx(np.mean(each))
    assert found.low <= found.value <= found.high and found.low >= -1 and found.high <= 1
    assert (found.n_groups, found.n_seeds) == (6, 4)


def test_a_planted_relation_is_found() -> None:
    found = correlation(made_groups().query("level == 0"), RELATIONS[1])
    assert found.relation.sign < 0 and found.high < 0


def test_few_or_equal_groups_have_no_correlation_but_a_reason() -> None:
    few = correlation(made_groups(n_groups=2, levels=(0,)), RELATIONS[0])
    assert np.isnan(few.value) and few.reason == FEW_GROUPS
    equal = correlation(made_groups().assign(n=7), RELATIONS[0])
    assert np.isnan(equal.value) and equal.reason == NO_SPREAD
    assert np.isnan(correlation(made_groups(n_seeds=1), RELATIONS[1]).low)


def test_curves_are_means_over_seeds() -> None:
    groups = made_groups()
    curves = cause_curves(groups).set_index(["level", "group"])
    by_hand = groups.groupby(["level", "group"])["gradient_norm"].mean()
    np.testing.assert_allclose(curves.loc[by_hand.index, "gradient_norm"], by_hand)
    assert (curves["gradient_norm_low"] < curves["gradient_norm"]).all() and (curves["n_seeds"] == 4).all()


def test_bound_facts_count_pruned_groups_only() -> None:
    groups = made_groups()
    facts = bound_facts(groups)
    pruned = groups[groups["level"] == 1]
    assert facts.n == len(pruned) == 24
    assert facts.holds == pytest.approx((pruned["excessive_loss"] <= 2).mean())
    assert bound_facts(groups[groups["level"] == 0]) == replace(
        facts, n=0, holds=pytest.approx(np.nan, nan_ok=True), times=pytest.approx(np.nan, nan_ok=True)
    )


def test_skipped_groups_are_named_once() -> None:
    groups = made_groups()
    groups.loc[groups["group"] == "2", ["reason", "n"]] = ["only one", 1]
    assert skipped_groups(groups).to_dict("records") == [
        {"grouping": "class", "group": "2", "reason": "only one", "n": 1}
    ]


def test_sizes_hardly_differ() -> None:
    assert sizes_hardly_differ([100, 110, 0]) and not sizes_hardly_differ([100, 200])
