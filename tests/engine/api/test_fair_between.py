"""A study where the country pays: fair between regions never recommends the network that fair between classes does."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import prunescope as ps
from engine.analysis.columns import MODEL
from engine.analysis.frontier.choice import choose
from engine.analysis.frontier.rejected import rivals
from engine.analysis.frontier.weight_ranges import change_over_weights
from engine.analysis.groupings import NO_VALUE
from engine.analysis.held_out_gap import debiased_gap
from engine.analysis.noise_floor import noise_floor
from engine.analysis.unfairness import UNFAIRNESS
from engine.api.public_study import Study
from engine.errors import PruneScopeError
from tests.support.studies import make_study

N = 400
LABELS = np.tile(["cat", "dog", "owl", "fox"], N // 4)
REGION = np.where(np.arange(N) < N // 4, "rural", "urban").astype(object)
HARBOUR = np.where(np.arange(N) % 50 == 0, "yes", "no")
ERRORS = {0.0: (0.05, 0.05), 0.5: (0.06, 0.06), 0.9: (0.35, 0.15)}
"""Sparsity -> share of errors among rural and urban examples."""


def answers(rural: float, urban: float, seed: int) -> np.ndarray:
    """Answers with exactly these shares of errors in each region, spread evenly over the classes."""
    rng, said = np.random.default_rng(seed), LABELS.copy()
    for region, share in (("rural", rural), ("urban", urban)):
        members = np.flatnonzero(region == REGION)
        wrong = rng.permutation(members)[: round(share * len(members))]
        said[wrong] = np.roll(LABELS, 1)[wrong]
    return said


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    study = Study(tmp_path_factory.mktemp("regions") / "study")
    groups = {"region": REGION, "harbour": HARBOUR}
    for seed in range(3):
        for sparsity, shares in ERRORS.items():
            technique = "lasso" if sparsity else "dense"
            model = {"sparsity": sparsity, "technique": technique, "seed": seed, "groups": groups}
            study.record(answers(*shares, seed), LABELS, **model)
    return study


def test_measures_between_regions_are_the_planted_ones(study: Study) -> None:
    point = study.points(fair_between="region").set_index("sparsity").loc[0.9]
    planted = {"max_min": 0.2, "mean_min": 0.1, "standard_deviation": 0.1, "change_range": 0.2}
    planted |= {"worst_class": 0.35, "largest_loss": 0.3}
    assert point[list(planted)].to_dict() == pytest.approx(planted)
    assert np.isnan(point["excessive_loss_gap"]) and np.isnan(point["intensification"])


@pytest.mark.parametrize("measure", UNFAIRNESS)
@pytest.mark.parametrize("weight", [10.0, 31.6, 100.0, 1000.0])
def test_the_network_that_rural_pays_for_is_never_recommended(study: Study, measure: str, weight: float) -> None:
    points = study.points(fair_between="region")
    for threshold in (0.0, 0.5, 0.7, 0.79, 0.8, 0.9, 0.94, 0.95, 0.99):
        choice = choose(points, threshold, weight, measure)
        assert choice.chosen is None or points["sparsity"][choice.chosen] < 0.9
        if choice.chosen is not None:
            assert 0.9 not in set(change_over_weights(points, choice, (weight, np.inf))["sparsity"])
            assert len(rivals(points, choice)) == len(points) - 1


def test_between_classes_the_same_network_looks_fair_enough(study: Study) -> None:
    points = study.points()
    classes = choose(points, 0.7, 3, "max_min")
    regions = choose(study.points(fair_between="region"), 0.7, 10, "max_min")
    assert points["sparsity"][classes.chosen] == 0.9 and points["sparsity"][regions.chosen] == 0.5


def test_groups_that_are_too_small_are_named(study: Study) -> None:
    left_out = study.left_out("harbour")
    assert left_out[["group", "n", "reason"]].values.tolist() == [["yes", 8, "fewer than 20 examples"]]
    assert study.points(fair_between="harbour")["max_min"].isna().all()
    assert study.points(fair_between="harbour", least=8)["max_min"].notna().all()
    crossed = study.left_out(("region", "harbour"))
    assert crossed["group"].tolist() == ["rural x yes", "urban x yes"] and crossed["n"].tolist() == [2, 6]
    assert study.left_out("class").empty and study.left_out("harbour", least=1).empty
    with pytest.raises(PruneScopeError, match="did you mean 'harbour'"):
        study.left_out("harbor")


def test_runs_whose_examples_lack_the_column_are_left_out_and_named(tmp_path: Path) -> None:
    study = Study(tmp_path / "two")
    study.record(LABELS, LABELS, sparsity=0.5, technique="a", dataset="one", groups={"region": REGION})
    none = np.where(np.arange(N) < 5, None, REGION)
    study.record(LABELS, LABELS, sparsity=0.5, technique="a", dataset="two", groups={"place": none})
    assert study.points(fair_between="region")["dataset"].tolist() == ["one"]
    assert study.left_out("region").values.tolist() == [["two", "", N, "no column region"]]
    assert study.left_out("place").set_index("examples").loc["two", "group"] == NO_VALUE
    with pytest.raises(PruneScopeError, match="No examples of this study have all of region, place"):
        study.points(fair_between=("region", "place"))


@pytest.mark.parametrize("between", ["region", "class", ("region", "class")])
def test_noise_stands_beside_the_gap_of_every_point(study: Study, between: str | tuple[str, ...]) -> None:
    noise, points = study.noise(between, least=20), study.points(between, least=20)
    same = points.merge(noise, on=[*MODEL, "level"], suffixes=("", "_too"))
    assert len(same) == len(points) == len(noise)
    assert same["max_min"].to_numpy() == pytest.approx(same["max_min_too"].to_numpy())
    assert (same["max_min_floor_high"] > same["max_min_floor"]).all() and (same["max_min_floor"] > 0).all()
    if between == "region":
        floors = [noise_floor([100, 300], accuracy) for accuracy in (0.95, 0.94, 0.8)]
        assert noise["max_min_floor"].to_numpy() == pytest.approx([float(floor.expected) for floor in floors])
        gaps = [debiased_gap(answers(*ERRORS[0.9], seed) == LABELS, REGION) for seed in range(3)]
        assert noise["debiased_gap"].iloc[2] == pytest.approx(np.mean(gaps)) == pytest.approx(0.2, abs=0.03)


def test_classes_as_a_grouping_give_what_the_tables_of_classes_give(tmp_path: Path) -> None:
    study = make_study(tmp_path / "made", seeds=2, levels=2, treatments=("rewind",))
    points = ps.Study(study.path).points()
    noise = ps.Study(study.path).noise()
    assert noise["max_min"].to_numpy() == pytest.approx(points["max_min"].to_numpy())
    assert ps.Study(study.path).points(fair_between="series")["max_min"].notna().all()


def test_one_models_answers_are_measured_whatever_the_size_of_groups() -> None:
    labels, said = ["a", "b", "a", "b"], ["a", "b", "a", "a"]
    values = ps.unfairness(labels, said, ["x", "x", "y", "y"], before=labels)
    assert values["max_min"] == 0.5 and values["largest_loss"] == 0.5 and np.isnan(values["excessive_loss_gap"])
    assert isinstance(values, pd.Series) and list(values.index)[: len(UNFAIRNESS)] == list(UNFAIRNESS)


def test_figure_names_the_grouping_on_its_axis(study: Study) -> None:
    figure = ps.plots.frontier(study, fair_between=("region", "class"), measure="worst_class", threshold=0.7)
    assert figure.layout.yaxis.title.text == "unfairness: Worst group error, between region x class"
    assert "between" not in ps.plots.frontier(study, threshold=0.7).layout.yaxis.title.text
