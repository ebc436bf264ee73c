"""Rates of groups against fairlearn, tests against statsmodels and simulation."""

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import MetricFrame, false_negative_rate, false_positive_rate
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import t
from statsmodels.stats.multitest import multipletests

from engine.analysis.examples.subgroups import COLUMNS, JOIN, group_codes, groupings, holm, rate_cases, subgroup_table
from engine.analysis.intervals import wilson_interval


def study(n: int = 800, n_models: int = 3, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Examples with three columns of groups, and what dense and compressed networks say of four classes."""
    random = np.random.default_rng(seed)
    examples = pd.DataFrame(
        {
            "label": random.integers(0, 4, n),
            "series": random.choice(["hsf0", "hsf1", "hsf4"], n, p=[0.6, 0.3, 0.1]),
            "age": random.choice(["old", "young"], n),
            "side": random.integers(0, 2, n),
        }
    )
    labels = examples["label"].to_numpy()
    worse = np.where(examples["series"] == "hsf4", 0.3, 0.1)
    said = [(labels + (random.random((n_models, n)) < share)) % 4 for share in (0.05, worse)]
    return examples, *said


def error(truth: np.ndarray, said: np.ndarray) -> float:
    return float((np.asarray(truth) != np.asarray(said)).mean())


METRICS = {"error": error, "fpr": false_positive_rate, "fnr": false_negative_rate}


@pytest.mark.parametrize(("columns", "positive"), [(["series"], 3), (["series", "age", "side"], 0)])
def test_rates_equal_fairlearn(columns: list[str], positive: int) -> None:
    examples, dense, compressed = study(n_models=2)
    table = subgroup_table(examples, dense, compressed, columns, positive)
    truth = examples["label"] == positive
    for moment, models in (("before", dense), ("compressed", compressed)):
        for names in groupings(columns)[1:]:
            frames = [
                MetricFrame(
                    metrics=METRICS,
                    y_true=truth,
                    y_pred=said == positive,
                    sensitive_features=examples[list(names)].astype(str),
                )
                for said in models
            ]
            expected = sum(frame.by_group for frame in frames) / len(frames)
            mine = table[table["grouping"] == JOIN.join(names)].pivot(index="group", columns="rate", values=moment)
            for group, row in expected.iterrows():
                name = JOIN.join(group) if isinstance(group, tuple) else group
                for rate in METRICS:
                    assert mine.loc[name, rate] == pytest.approx(row[rate], nan_ok=True)
            overall = sum(frame.overall for frame in frames) / len(frames)
            all_rows = table[table["grouping"] == "all"].set_index("rate")[moment]
            assert all_rows.to_dict() == pytest.approx(overall.to_dict())


def test_error_without_a_positive_class_is_that_of_all_classes() -> None:
    examples, dense, compressed = study()
    table = subgroup_table(examples, dense, compressed, ["series"])
    assert list(table) == list(COLUMNS) and set(table["rate"]) == {"error"}
    labels = examples["label"].to_numpy()
    for row in table[table["grouping"] == "series"].itertuples():
        mine = (examples["series"] == row.group).to_numpy()
        before, after = ((said[:, mine] != labels[mine]).mean() for said in (dense, compressed))
        assert (row.before, row.compressed) == pytest.approx((before, after))
        assert row.change == pytest.approx(after - before)
        assert row.normalised == pytest.approx(100 * (after - before) / before)
        assert (row.before_low, row.before_high) == pytest.approx(
            tuple(map(float, wilson_interval(before * row.n, row.n)))
        )
        assert row.small == (row.n < 30)


def test_the_test_equals_one_written_out() -> None:
    examples, dense, compressed = study()
    row = subgroup_table(examples, dense, compressed, ["series"]).set_index("group").loc["hsf4"]
    labels = examples["label"].to_numpy()
    mine = (examples["series"] == "hsf4").to_numpy()
    change = (compressed != labels).astype(int) - (dense != labels).astype(int)
    by_seed = change[:, mine].mean(1) - change[:, ~mine].mean(1)

    def of_examples(values: np.ndarray, sides: tuple[np.ndarray, ...]) -> list[tuple[float, int]]:
        return [(values[side].var(ddof=1) / side.sum(), side.sum() - 1) for side in sides]

    def put_together(by_seed: np.ndarray, sides: tuple[np.ndarray, ...]) -> tuple[float, float]:
        """Standard error and degrees of freedom over 3 seeds and the examples of these sides."""
        parts = of_examples(change.mean(0), sides)
        own = sum(part for part, _ in parts)
        each = np.mean([sum(part for part, _ in of_examples(row, sides)) for row in change])
        seeds, both = by_seed.var(ddof=1) / 3, (each - own) / 2
        left, welch = max(own - both, 0), own**2 / sum(part**2 / of for part, of in parts)
        return np.sqrt(seeds + left), (seeds + left) / (seeds / 2 + left / welch)

    error, freedom = put_together(by_seed, (mine, ~mine))
    assert row["against_rest"] == pytest.approx(by_seed.mean())
    assert row["p"] == pytest.approx(2 * t.sf(abs(by_seed.mean()) / error, freedom))
    error, freedom = put_together(change[:, mine].mean(1), (mine,))
    half = t.ppf(0.975, freedom) * error
    assert (row["low"], row["high"]) == pytest.approx((row["change"] - half, row["change"] + half))


@pytest.mark.parametrize("n_models", [1, 4])
def test_groups_that_do_not_differ_are_rarely_called_different(n_models: int) -> None:
    """Seeds with effects of their own and hard examples: about 5 % of the tests reject, or fewer."""
    rejected = []
    for seed in range(80):
        random = np.random.default_rng(seed)
        n = 300
        group = random.integers(0, 2, n)
        hard = random.beta(0.5, 3, n)
        labels = np.zeros(n, int)
        said = [
            (random.random((n_models, n)) < np.clip(hard + bias + random.normal(0, 0.03, (n_models, 1)), 0, 1)).astype(
                int
            )
            for bias in (0, 0.05)
        ]
        table = subgroup_table(pd.DataFrame({"label": labels, "group": group}), *said, ["group"])
        rejected.append(table.set_index("group").loc["1", "p"] < 0.05)
    assert np.mean(rejected) <= 0.09


def test_a_planted_loss_is_found_and_survives_correction() -> None:
    examples, dense, compressed = study(n=3000, n_models=6)
    table = subgroup_table(examples, dense, compressed, ["series", "age"]).set_index(["grouping", "group"])
    found = table.loc[("series", "hsf4")]
    assert found["against_rest"] > 0.1 and found["p_corrected"] < 0.05
    assert table.loc[("age", "old"), "p_corrected"] > 0.05
    assert np.isnan(table.loc[("all", "all"), "p"]), "everybody has no rest"


def test_what_cannot_be_told_is_nan() -> None:
    examples = pd.DataFrame({"label": [0, 0, 0, 1], "group": ["a", "a", "b", None]})
    said = np.zeros((2, 4), int)
    table = subgroup_table(examples, said, said, ["group"], positive=1).set_index(["group", "rate"])
    assert np.isnan(table.loc[("a", "fnr"), "before"]) and table.loc[("a", "fnr"), "n"] == 0
    assert np.isnan(table.loc[("a", "fpr"), "normalised"]), "a dense rate of 0 has no relative change"
    assert table[["p", "p_corrected"]].isna().all().all()
    assert table.loc[("a", "error"), "n"] == 2, "an example without a group counts in none"


def test_groups_that_no_example_has_are_left_out() -> None:
    examples = pd.DataFrame({"a": ["x", "x", "y"], "b": [1, 1, 2]})
    code, names = group_codes(examples, ["a", "b"])
    assert names == ["x × 1", "y × 2"] and code.tolist() == [0, 0, 1]


def test_a_binary_target_is_its_class_one() -> None:
    labels, said = np.array([0, 1, 1, 0]), np.array([[1, 1, 0, 0]])
    cases = rate_cases(labels, said, said, 1)
    assert cases["error"].wrong["before"].mean() == 0.5
    assert cases["fpr"].counted.tolist() == [True, False, False, True]


@settings(max_examples=20, deadline=None)
@given(arrays(float, st.integers(0, 12), elements=st.floats(0, 1) | st.just(np.nan)))
def test_holm_equals_statsmodels(p: np.ndarray) -> None:
    known = ~np.isnan(p)
    corrected = holm(p)
    assert np.isnan(corrected[~known]).all()
    if known.any():
        np.testing.assert_allclose(corrected[known], multipletests(p[known], method="holm")[1])


def with_writers(n_models: int = 4, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Two series of forty writers each, who lose much or little, whatever their series."""
    random = np.random.default_rng(seed)
    writer = np.repeat(np.arange(80), 20)
    examples = pd.DataFrame({"label": 0, "writer": writer, "series": np.where(writer < 40, "a", "b")})
    worse = random.uniform(0, 0.4, 80)[writer]
    dense, compressed = ((random.random((n_models, len(writer))) < share).astype(int) for share in (0.05, worse))
    return examples, dense, compressed


def test_writers_are_clusters() -> None:
    examples, dense, compressed = with_writers()
    table = subgroup_table(examples, dense, compressed, ["series"]).set_index("group")
    alone = subgroup_table(examples.drop(columns="writer"), dense, compressed, ["series"]).set_index("group")
    same = ["before", "compressed", "change", "against_rest"]
    pd.testing.assert_frame_equal(table[same], alone[same])
    assert table["n_clusters"].to_dict() == {"all": 80, "a": 40, "b": 40} and alone.loc["a", "n_clusters"] == 800
    assert table.loc["a", "p"] > alone.loc["a", "p"]
    for ends in (("low", "high"), ("compressed_low", "compressed_high")):
        wide, narrow = ((rows[ends[1]] - rows[ends[0]])["a"] for rows in (table, alone))
        assert wide > 1.2 * narrow, ends


def test_complements_are_one_test() -> None:
    examples, dense, compressed = study()
    table = subgroup_table(examples, dense, compressed, ["age"]).set_index("group")
    assert table.loc["old", "test"] == table.loc["young", "test"] != table.loc["all", "test"]
    assert table.loc["old", "p_corrected"] == pytest.approx(table.loc["old", "p"]), "one test needs no correction"
    several = subgroup_table(examples, dense, compressed, ["age", "series"])
    tests = several[several["p"].notna()].drop_duplicates("test")
    assert len(tests) == 1 + 3 + 6
    np.testing.assert_allclose(tests["p_corrected"], multipletests(tests["p"], method="holm")[1])
    examples["age"] = examples["age"].mask(examples.index == 0)
    table = subgroup_table(examples, dense, compressed, ["age"]).set_index("group")
    assert table.loc["old", "test"] != table.loc["young", "test"], "who has no age is among the others of both"


def test_what_a_test_can_tell() -> None:
    examples, dense, compressed = study()
    table = subgroup_table(examples, dense, compressed, ["age", "series"])
    groups = table[table["grouping"] != "all"]
    assert groups["can_reject"].all() and not table.loc[table["grouping"] == "all", "can_reject"].any()
    told = groups["p"] < 0.05 / 10
    assert (told == (groups["against_rest"].abs() > groups["reach"])).all()
    old = (examples["age"] == "old").to_numpy().astype(int)
    table = subgroup_table(examples.assign(label=0), np.zeros((2, 800), int), np.stack([old, 1 - old]), ["age"])
    assert not table["can_reject"].any() and (table["reach"].dropna() > 1).all(), "two seeds that disagree"
