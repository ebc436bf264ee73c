"""Exemplars against plain counting, and the properties that any numbering of classes must keep."""

from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import rankdata

from engine.analysis.examples.exemplars import (
    PERCENTILES,
    Divergence,
    accuracy_within,
    divergence,
    exemplar_accuracy,
    held_out_accuracy,
    percentile_cut,
    ranking,
    turned,
    votes,
)
from engine.analysis.examples.representation import attribute_bins, representation
from engine.analysis.intervals import wilson_interval
from engine.errors import PruneScopeError

Pair = tuple[np.ndarray, np.ndarray, int]


@st.composite
def populations(draw: st.DrawFn) -> Pair:
    """Two populations of equal size, small enough that votes tie often."""
    n_models, n_examples, n_classes = draw(st.integers(1, 6)), draw(st.integers(1, 8)), draw(st.integers(1, 5))
    said = arrays(np.uint8, (n_models, n_examples), elements=st.integers(0, n_classes - 1))
    return draw(said), draw(said), n_classes


def counted(dense: np.ndarray, compressed: np.ndarray) -> list[tuple[int, float, bool, bool]]:
    """Taxicab, Jaccard, modal, tied of each example, from dictionaries."""
    rows = []
    for before, after in zip(dense.T.tolist(), compressed.T.tolist(), strict=True):
        b, v = Counter(before), Counter(after)
        names = {*b, *v}
        modes = [{name for name in c if c[name] == max(c.values())} for c in (b, v)]
        rows.append(
            (
                sum(abs(b[name] - v[name]) for name in names),
                1 - sum(min(b[name], v[name]) for name in names) / sum(max(b[name], v[name]) for name in names),
                not modes[0] & modes[1],
                len(modes[0]) > 1 or len(modes[1]) > 1,
            )
        )
    return rows


@settings(max_examples=60, deadline=None)
@given(populations())
def test_divergence_equals_a_brute_force_count(pair: Pair) -> None:
    found = divergence(*pair)
    taxicab, jaccard, modal, tied = map(np.array, zip(*counted(*pair[:2]), strict=True))
    np.testing.assert_array_equal(found.taxicab, taxicab)
    np.testing.assert_allclose(found.jaccard, jaccard, atol=1e-12)
    np.testing.assert_array_equal(found.modal, modal)
    np.testing.assert_array_equal(found.tied, tied)


def test_divergence_of_thirty_networks_equals_a_brute_force_count() -> None:
    random = np.random.default_rng(0)
    dense, compressed = random.integers(0, 10, (2, 30, 500), dtype=np.uint8)
    dense[:, :250] = compressed[:, :250] = 3
    compressed[:8, 100:250] = 7
    found = divergence(dense, compressed, 10)
    rows = counted(dense, compressed)
    assert [tuple(row) for row in zip(found.taxicab, found.modal, found.tied, strict=True)] == [
        (taxicab, modal, tied) for taxicab, _, modal, tied in rows
    ]


@settings(max_examples=60, deadline=None)
@given(populations())
def test_taxicab_and_jaccard_give_the_same_order(pair: Pair) -> None:
    found = divergence(*pair)
    np.testing.assert_array_equal(rankdata(found.taxicab), rankdata(found.jaccard.round(12)))


@settings(max_examples=60, deadline=None)
@given(populations(), st.randoms(use_true_random=False))
def test_nothing_depends_on_how_classes_are_numbered(pair: Pair, random: object) -> None:
    dense, compressed, n_classes = pair
    numbers = np.array(random.sample(range(n_classes), n_classes), np.uint8)  # type: ignore[attr-defined]
    mine, theirs = divergence(*pair), divergence(numbers[dense], numbers[compressed], n_classes)
    for name in ("taxicab", "jaccard", "modal", "tied"):
        np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name))


@settings(max_examples=60, deadline=None)
@given(populations())
def test_divergence_is_symmetric_and_within_bounds(pair: Pair) -> None:
    dense, compressed, n_classes = pair
    found, mirrored = divergence(*pair), divergence(compressed, dense, n_classes)
    np.testing.assert_array_equal(found.taxicab, mirrored.taxicab)
    np.testing.assert_array_equal(found.modal, mirrored.modal)
    assert (found.taxicab >= 0).all() and (found.taxicab <= 2 * len(dense)).all()
    assert (found.taxicab[found.modal] > 0).all()
    assert not divergence(dense, dense, n_classes).modal.any()


def test_blocks_of_examples_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    dense, compressed = np.random.default_rng(1).integers(0, 4, (2, 5, 100))
    whole = divergence(dense, compressed, 4)
    monkeypatch.setattr("engine.analysis.examples.exemplars.CELLS", 28)
    blocks = divergence(dense, compressed, 4)
    np.testing.assert_array_equal(whole.taxicab, blocks.taxicab)
    np.testing.assert_array_equal(whole.modal, blocks.modal)


@settings(max_examples=60, deadline=None)
@given(populations())
def test_turned_counts_who_loses_and_who_gains_the_true_label(pair: Pair) -> None:
    dense, compressed, n_classes = pair
    labels = np.arange(dense.shape[1]) % n_classes
    worse = better = 0
    for label, before, after in zip(labels, dense.T.tolist(), compressed.T.tolist(), strict=True):
        b, v = Counter(before), Counter(after)
        modes = [{name for name in c if c[name] == max(c.values())} for c in (b, v)]
        if not modes[0] & modes[1]:
            worse += label in modes[0]
            better += label in modes[1]
    found = divergence(*pair)
    counts = turned(labels, dense, compressed, found, n_classes)
    assert counts[:2] == (worse, better)
    assert sum(counts) == int(found.modal.sum()), "they add up"


def test_votes_add_up() -> None:
    said = np.array([[0, 1], [0, 2], [2, 2]])
    np.testing.assert_array_equal(votes(said, 3), [[2, 0, 1], [0, 1, 2]])


@pytest.mark.parametrize("shapes", [((2, 5), (3, 5)), ((0, 5), (0, 5)), ((2, 5), (2, 4))])
def test_unequal_populations_are_refused(shapes: tuple[tuple[int, int], tuple[int, int]]) -> None:
    with pytest.raises(PruneScopeError, match="equally many networks"):
        divergence(np.zeros(shapes[0], int), np.zeros(shapes[1], int), 2)


SCORES = arrays(np.int64, st.integers(1, 60), elements=st.integers(0, 4))


@settings(max_examples=60, deadline=None)
@given(SCORES)
def test_cuts_take_the_top_and_lie_inside_each_other(score: np.ndarray) -> None:
    cuts = [percentile_cut(score, at) for at in (0, 50, 90, 99)]
    for cut in cuts:
        size = max(1, int(np.ceil(len(score) * (100 - cut.percentile) / 100 - 1e-9)))
        assert cut.weights.sum() == pytest.approx(size)
        assert (cut.weights[score > cut.edge] == 1).all() and (cut.weights[score < cut.edge] == 0).all()
        assert cut.n_tied == (score == cut.edge).sum()
        assert cut.n_left_out == (score >= cut.edge).sum() - size
        np.testing.assert_array_equal(cut.listed, (cut.weights > 0) & (score > 0))
    for outer, inner in zip(cuts[:-1], cuts[1:], strict=True):
        assert (outer.weights >= inner.weights - 1e-12).all() and (outer.listed | ~inner.listed).all()


@settings(max_examples=40, deadline=None)
@given(arrays(np.int64, st.integers(1, 9), elements=st.integers(0, 2)), st.sampled_from([0.0, 40.0, 75.0]), st.data())
def test_accuracy_of_a_cut_is_the_mean_over_every_way_to_fill_it(
    score: np.ndarray, percentile: float, data: st.DataObject
) -> None:
    right = data.draw(arrays(bool, (2, len(score))))
    cut = percentile_cut(score, percentile)
    above, tied = np.flatnonzero(score > cut.edge), np.flatnonzero(score == cut.edge)
    filled = [[*above, *some] for some in combinations(tied, cut.n_tied - cut.n_left_out)]
    inside = np.mean([right[:, members].mean(axis=1) for members in filled], axis=0)
    weights = np.stack([cut.weights, 1 - cut.weights])
    labels, predictions = np.zeros(len(score), int), (~right).astype(int)
    found = accuracy_within(labels, predictions, weights)
    np.testing.assert_allclose(found[:, 0], inside, atol=1e-12)
    if len(filled[0]) < len(score):
        rest = np.mean([np.delete(right, members, axis=1).mean(axis=1) for members in filled], axis=0)
        np.testing.assert_allclose(found[:, 1], rest, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(SCORES, st.randoms(use_true_random=False))
def test_no_order_of_the_examples_decides_a_tie(score: np.ndarray, random: object) -> None:
    order = np.array(random.sample(range(len(score)), len(score)))  # type: ignore[attr-defined]
    for percentile in (50, 99):
        mine, theirs = percentile_cut(score, percentile), percentile_cut(score[order], percentile)
        np.testing.assert_array_equal(mine.weights[order], theirs.weights)
        np.testing.assert_array_equal(mine.listed[order], theirs.listed)


def test_the_ranking_keeps_the_order_of_ties() -> None:
    assert ranking([1, 3, 3, 0, 3]).tolist() == [1, 2, 4, 0, 3]


@pytest.mark.parametrize("percentile", [-1, 100, 101])
def test_a_percentile_out_of_range_is_refused(percentile: float) -> None:
    with pytest.raises(PruneScopeError, match="allowed is 0 or more and below 100"):
        percentile_cut([1, 2], percentile)


def hard_examples(n_models: int = 6, n: int = 2000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, dense and compressed predictions; a tenth is hard for all and harder when compressed."""
    random = np.random.default_rng(2)
    labels = random.integers(0, 10, n)
    hard = np.arange(n) < n // 10
    said = []
    for easy_wrong, hard_wrong in ((0.01, 0.3), (0.02, 0.7)):
        wrong = random.random((n_models, n)) < np.where(hard, hard_wrong, easy_wrong)
        said.append(((labels + wrong * random.integers(1, 10, (n_models, n))) % 10).astype(np.uint8))
    return labels, *said


def test_accuracy_of_subsets_equals_plain_means() -> None:
    labels, dense, compressed = hard_examples()
    found = divergence(dense, compressed, 10)
    table = exemplar_accuracy(labels, dense, compressed, found)
    assert len(table) == 2 * (3 + 2 * len(PERCENTILES))
    weights = percentile_cut(found.taxicab, 95).weights
    for subset, mask in {"all": found.modal | True, "modal": found.modal, "modal rest": ~found.modal}.items():
        row = table[(table["subset"] == subset) & (table["population"] == "compressed")].iloc[0]
        assert row["n"] == mask.sum()
        assert row["accuracy"] == pytest.approx((compressed[:, mask] == labels[mask]).mean())
    row = table[
        (table["subset"] == "taxicab") & (table["percentile"] == 95) & (table["population"] == "baseline")
    ].iloc[0]
    by_model = [np.average(said == labels, weights=weights) for said in dense]
    assert (row["accuracy"], row["sd"]) == pytest.approx((np.mean(by_model), np.std(by_model, ddof=1)))
    assert row["low"] < row["accuracy"] < row["high"]


def test_accuracy_falls_with_the_percentile_and_the_rest_adds_up() -> None:
    labels, dense, compressed = hard_examples()
    table = exemplar_accuracy(labels, dense, compressed, divergence(dense, compressed, 10))
    for population in ("baseline", "compressed"):
        mine = table[table["population"] == population].set_index(["subset", "percentile"])
        whole = mine["accuracy"].iloc[0]
        for at in PERCENTILES:
            inside, outside = mine.loc[("taxicab", at)], mine.loc[("taxicab rest", at)]
            together = (inside["n"] * inside["accuracy"] + outside["n"] * outside["accuracy"]) / len(labels)
            assert together == pytest.approx(whole)
    falling = mine["accuracy"].reindex([("all", np.nan), *(("taxicab", at) for at in PERCENTILES)]).tolist()
    assert falling == sorted(falling, reverse=True) and falling[-1] < 0.5 < 0.9 < falling[0]


def test_an_empty_subset_and_one_network_are_unknown_not_zero() -> None:
    labels = np.array([0, 1, 1])
    said = np.array([[0, 1, 0]])
    table = exemplar_accuracy(labels, said, said, divergence(said, said, 2))
    modal = table[table["subset"] == "modal"]
    assert (modal["n"] == 0).all() and modal["accuracy"].isna().all()
    assert table[["sd", "low", "high"]].isna().all().all()


def test_held_out_exemplars_are_milder_where_disagreement_is_chance() -> None:
    """Networks that err independently: exemplars are chance, so other networks find them no harder than the rest."""
    random = np.random.default_rng(3)
    labels = random.integers(0, 10, 4000)
    wrong = random.random((2, 8, 4000)) < 0.1
    dense, compressed = ((labels + wrong) % 10).astype(np.uint8)
    chosen = exemplar_accuracy(labels, dense, compressed, divergence(dense, compressed, 10), (90.0,))
    apart = held_out_accuracy(labels, dense, compressed, 10, (90.0,))
    mine, theirs = (table[table["subset"] == "taxicab"]["accuracy"].mean() for table in (chosen, apart))
    assert mine < 0.85 and theirs == pytest.approx(0.9, abs=0.02)
    assert held_out_accuracy(labels, dense[:3], compressed[:3], 10).empty


def grouped_examples() -> tuple[pd.DataFrame, np.ndarray]:
    random = np.random.default_rng(4)
    series = random.choice(["a", "b", "c"], 900, p=[0.6, 0.3, 0.1]).astype(object)
    series[:20] = None
    table = pd.DataFrame({"series": series, "tilt": random.normal(size=900), "label": random.integers(0, 2, 900)})
    table.loc[:9, "tilt"] = np.nan
    return table, random.random(900) < np.where(series == "c", 0.5, 0.1)


def test_representation_equals_plain_counts() -> None:
    examples, chosen = grouped_examples()
    table = representation(examples, chosen, ["series"], ["tilt"])
    assert list(table["grouping"].unique()) == ["series", "tilt"]
    known = examples["series"].notna().to_numpy()
    for row in table[table["grouping"] == "series"].itertuples():
        mine = (examples["series"] == row.group).to_numpy()
        share = (mine & chosen).sum() / (known & chosen).sum()
        assert (row.n, row.n_chosen) == (mine.sum(), (mine & chosen).sum())
        assert row.ratio == pytest.approx(share / (mine.sum() / known.sum()))
        low, high = wilson_interval((mine & chosen).sum(), (known & chosen).sum())
        assert (row.low, row.high) == pytest.approx((low / row.share, high / row.share))
    assert table.set_index("group").loc["c", "low"] > 1 > table.set_index("group").loc["a", "high"]
    assert (table["reference"] == "test").all()


def test_representation_against_training_counts() -> None:
    examples, chosen = grouped_examples()
    table = representation(examples, chosen, ["series"], training={"series": {"a": 100, "b": 100}})
    row = table.set_index("group")
    assert row.loc["a", "share"] == 0.5 and row.loc["a", "reference"] == "training"
    assert np.isnan(row.loc["c", "ratio"]), "a group that training never saw has no ratio"


def test_representation_knows_the_writers() -> None:
    examples, chosen = grouped_examples()
    writer = np.repeat(np.arange(90), 10)
    lost = np.random.default_rng(1).random(90) < 0.1
    named, chosen = examples.assign(writer=writer), lost[writer] | (np.arange(900) == 5)
    for training in (None, {"series": {"a": 100, "b": 100, "c": 100}}):
        plain, clustered = (representation(t, chosen, ["series"], ["tilt"], training) for t in (examples, named))
        assert clustered["ratio"].equals(plain["ratio"])
    by_tenth = [t.assign(series=np.array(list("abcdefghi"))[writer // 10]) for t in (examples, named)]
    plain, clustered = (representation(t, chosen, ["series"]).query("n_chosen > 0") for t in by_tenth)
    width, wide = (t["high"] - t["low"] for t in (plain, clustered))
    assert (wide > 1.5 * width).all(), "digits of a writer are lost together"


def test_no_chosen_example_has_no_shares() -> None:
    examples, chosen = grouped_examples()
    table = representation(examples, chosen & False, ["series"])
    assert table["share_chosen"].isna().all() and (table["n_chosen"] == 0).all()


def test_bins_hold_equally_many_and_every_value() -> None:
    values = pd.Series(np.random.default_rng(5).normal(size=1000), name="tilt")
    bins = attribute_bins(values)
    assert bins.value_counts().between(249, 251).all() and bins.notna().all()
    assert attribute_bins(pd.Series([1.0, 1.0, np.nan], name="x")).tolist() == ["one value", "one value", None]
    assert attribute_bins(pd.Series([np.nan, np.nan], name="x")).isna().all()


@settings(max_examples=30, deadline=None)
@given(arrays(float, st.integers(1, 50), elements=st.sampled_from([0.0, 1e-9, 1.0, 2.0, np.nan])))
def test_bins_of_few_values_keep_equal_values_together(values: np.ndarray) -> None:
    bins = attribute_bins(pd.Series(values, name="x")).astype(object)
    for value in np.unique(values[~np.isnan(values)]):
        assert bins[values == value].nunique() == 1
    assert bins[np.isnan(values)].isna().all()


def test_facts_are_frozen() -> None:
    found = divergence(np.zeros((1, 1), int), np.ones((1, 1), int), 2)
    assert isinstance(found, Divergence) and found.modal.all()
    with pytest.raises(AttributeError):
        found.n_models = 2  # type: ignore[misc]
