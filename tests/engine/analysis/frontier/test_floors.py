"""Floors: extremes are those of the groups, a point that breaks one is out, and says which group."""

import numpy as np
import pandas as pd
import pytest

from engine.analysis.frontier.choice import FLOORS_BROKEN, choose
from engine.analysis.frontier.floors import allowed, broken, with_extremes
from engine.analysis.frontier.points import seed_points
from engine.analysis.frontier.rejected import rivals
from engine.analysis.frontier.stability import agreement, winners
from engine.analysis.unfairness import unfairness_table
from engine.store.study import Study
from tests.support.studies import make_study

NAMES = {0: "urban", 1: "rural"}


@pytest.fixture
def points() -> pd.DataFrame:
    """A dense network, a fair one and one that rural pays for."""
    numbers = {"accuracy": [0.95, 0.94, 0.80], "sparsity": [0.0, 0.5, 0.9], "max_min": [0.0, 0.0, 0.2]}
    table = pd.DataFrame({"point": [4, 5, 6], "dense": [4, 4, 4], "level": [0, 1, 2], **numbers})
    rates = {4: (0.95, 0.95), 5: (0.94, 0.94), 6: (0.85, 0.65)}
    means = [(point, group, rate, 0.95) for point, pair in rates.items() for group, rate in enumerate(pair)]
    return with_extremes(table, pd.DataFrame(means, columns=["point", "class", "accuracy", "dense_accuracy"]), NAMES)


def test_extremes_are_those_of_the_groups(points: pd.DataFrame) -> None:
    assert points["lowest"].tolist() == [0.95, 0.94, 0.65] and points["lowest_group"].iloc[2] == "rural"
    assert points["loss"].tolist() == pytest.approx([0, 0.01, 0.3]) and points["loss_group"].iloc[2] == "rural"


def test_a_point_that_breaks_a_floor_is_out_and_says_which(points: pd.DataFrame) -> None:
    for limits, text in (({"lowest": 0.9}, "rural below 90.0 %"), ({"loss": 0.05}, "rural loses more than 5.0 points")):
        assert allowed(points, limits).tolist() == [True, True, False]
        assert broken(points, limits) == ["", "", text]
    free, bound = choose(points, 0.5, 0.1), choose(points, 0.5, 0.1, allowed=allowed(points, {"loss": 0.05}))
    assert free.chosen == 2 and bound.chosen == 1 and not bound.survivors[2]


def test_floors_are_kept_up_to_rounding(points: pd.DataFrame) -> None:
    assert allowed(points, {"loss": 0.3, "lowest": 0.65, "accuracy": 0.8}).all()


def test_what_is_not_known_breaks_a_floor(points: pd.DataFrame) -> None:
    unknown = points.assign(loss=np.nan, loss_group="")
    assert not allowed(unknown, {"loss": 0.5}).any() and broken(unknown, {"loss": 0.5})[0].startswith("a group loses")


def test_no_point_that_keeps_every_floor_is_said(points: pd.DataFrame) -> None:
    assert choose(points, 0.5, 1, allowed=allowed(points, {"lowest": 0.99})).reason == FLOORS_BROKEN


def test_shares_add_up_and_leave_out_what_a_floor_forbids(tmp_path: object) -> None:
    study: Study = make_study(f"{tmp_path}/study", levels=5, examples=300)
    seeds = seed_points(study.levels(), unfairness_table(study.classes()))
    columns = ["sparsity", "accuracy", "max_min"]
    keys = ["dataset", "split", "network", "technique", "treatment", "mitigation", "schedule", "protocol"]
    table = seeds.groupby(["point", "level", *keys], observed=True)[columns].mean().reset_index()
    table = table.assign(dense=-1, n_seeds=3)
    free = choose(table, 0.8, 1.0)
    forbidden = np.arange(len(table)) != free.chosen
    bound = choose(table, 0.8, 1.0, allowed=forbidden)
    trust = agreement(table, seeds, bound)
    assert free.chosen not in set(trust.table["position"]) and free.chosen not in trust.confidence_set
    assert winners(trust)["share"].sum() == pytest.approx(1)
    assert rivals(table, bound, ["x breaks it"] * len(table))["reason"].str.contains("x breaks it").any()
