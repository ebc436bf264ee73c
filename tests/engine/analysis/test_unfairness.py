"""Unfairness measures: a contract over the table, each against its own definition, and fairlearn as referee."""

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import MetricFrame
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.analysis.columns import MODEL
from engine.analysis.distortion.alpha import NO_DENSE, alphas
from engine.analysis.unfairness import (
    INPUTS,
    NO_GROUP_LOSS,
    NO_LOSS,
    NO_SLOPE,
    TOO_FEW_CLASSES,
    TOO_FEW_GROUPS,
    UNFAIRNESS,
    UnfairnessRow,
    unfairness_reason,
    unfairness_table,
)
from engine.errors import PruneScopeError


def rows(run: str, level: int, correct: list[int], n: list[int], loss: list[float] | None = None) -> pd.DataFrame:
    """Classes of one model."""
    counts = {"n": n, "correct": correct, "predicted": correct, "loss": loss or [0.1] * len(n)}
    identity = dict.fromkeys(MODEL, "x") | {"seed": 0, "level": level, "sparsity": level / 10}
    return pd.DataFrame({"run": run, "class": range(len(n)), **counts}).assign(**identity)


def random_classes(seed: int, n_runs: int = 6) -> pd.DataFrame:
    """Runs with different numbers of classes, some classes empty, in random order."""
    rng = np.random.default_rng(seed)
    parts = []
    for run in range(n_runs):
        n = rng.integers(0, 30, size=rng.integers(2, 12))
        n[:2] += 5
        for level in range(3):
            loss = [float(x) if size else np.nan for x, size in zip(rng.random(len(n)), n, strict=True)]
            parts.append(rows(f"r{run}", level, rng.binomial(n, 0.8).tolist(), n.tolist(), loss))
    return pd.concat(parts).sample(frac=1, random_state=seed, ignore_index=True)


def by_hand(classes: pd.DataFrame) -> dict[tuple[str, int], dict[str, float]]:
    """Every measure of every model, one class at a time."""
    out = {}
    for (run, level), model in classes[classes["n"] > 0].groupby(["run", "level"]):
        dense = classes[(classes["run"] == run) & (classes["level"] == 0)].set_index("class")
        accuracy = {row["class"]: row["correct"] / row["n"] for _, row in model.iterrows()}
        before = {name: dense.loc[name, "correct"] / dense.loc[name, "n"] for name in accuracy}
        change = [accuracy[name] - before[name] for name in accuracy]
        rise = [row["loss"] - dense.loc[row["class"], "loss"] for _, row in model.iterrows()]
        total, total_before = model["correct"].sum() / model["n"].sum(), dense["correct"].sum() / dense["n"].sum()
        pairs = [(before[c] / total_before - 1, accuracy[c] / total - 1) for c in accuracy]
        out[run, level] = {
            "max_min": max(accuracy.values()) - min(accuracy.values()),
            "mean_min": sum(accuracy.values()) / len(accuracy) - min(accuracy.values()),
            "standard_deviation": float(np.std(list(accuracy.values()))),
            "change_range": max(change) - min(change),
            "worst_class": 1 - min(accuracy.values()),
            "largest_loss": -min(change),
            "intensification": sum(b * a for b, a in pairs) / sum(b * b for b, _ in pairs),
            "excessive_loss_gap": max(rise) - min(rise),
        }
    return out


@pytest.mark.parametrize("key", UNFAIRNESS)
def test_row_keeps_the_contract(key: str) -> None:
    row = UNFAIRNESS[key]
    assert row.key == key and row.label and row.formula and row.source
    assert row.help.endswith(".") and "\n" not in row.help
    assert row.needs and set(row.needs) <= set(INPUTS)
    rng = np.random.default_rng(1)
    inputs = [rng.random((4, 5)) for _ in row.needs]
    for matrix in inputs:
        matrix[2] = np.nan
        matrix[3, 1:] = np.nan
    values = row.compute(*inputs)
    assert values.shape == (4,)
    assert np.isfinite(values[:2]).all() and np.isnan(values[2])


@pytest.mark.parametrize("key", UNFAIRNESS)
def test_measure_grows_with_a_planted_gap(key: str) -> None:
    dense = rows("r", 0, [92, 90, 88], [100] * 3, [0.1, 0.1, 0.1])
    mild = rows("r", 1, [92, 89, 86], [100] * 3, [0.1, 0.2, 0.3])
    harsh = rows("r", 2, [92, 80, 60], [100] * 3, [0.1, 0.4, 0.9])
    values = unfairness_table(pd.concat([dense, mild, harsh]))[key]
    assert values.is_monotonic_increasing and values.is_unique


@pytest.mark.parametrize("seed", range(20))
def test_table_equals_measures_built_by_hand(seed: int) -> None:
    classes = random_classes(seed)
    table = unfairness_table(classes)
    expected = by_hand(classes)
    assert len(table) == len(expected)
    for _, row in table.iterrows():
        for key, number in expected[row["run"], row["level"]].items():
            assert row[key] == pytest.approx(number, abs=1e-12), key


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_max_min_equals_fairlearn(data: st.DataObject) -> None:
    n_classes = data.draw(st.integers(2, 6))
    label = data.draw(
        st.lists(st.integers(0, n_classes - 1), min_size=2, max_size=60).filter(lambda x: len(set(x)) > 1)
    )
    predicted = data.draw(st.lists(st.integers(0, n_classes - 1), min_size=len(label), max_size=len(label)))
    right = np.array(label) == np.array(predicted)
    n = np.bincount(label, minlength=n_classes)
    correct = np.bincount(np.array(label)[right], minlength=n_classes)
    frame = MetricFrame(metrics=lambda y, p: (y == p).mean(), y_true=label, y_pred=predicted, sensitive_features=label)
    table = unfairness_table(rows("r", 0, correct.tolist(), n.tolist()), ["max_min", "worst_class"])
    assert table["max_min"][0] == pytest.approx(frame.difference("between_groups"))
    assert table["worst_class"][0] == pytest.approx(1 - frame.group_min())


def test_order_and_column_types_do_not_matter() -> None:
    classes = random_classes(3).sort_values(["run", "level", "class"], ignore_index=True)
    shuffled = classes.sample(frac=1, random_state=1)
    shuffled["run"] = shuffled["run"].astype("category")
    expected, got = (unfairness_table(t).sort_values(["run", "level"], ignore_index=True) for t in (classes, shuffled))
    pd.testing.assert_frame_equal(got.astype({"run": expected["run"].dtype}), expected)


def test_class_without_examples_is_left_out_not_zero() -> None:
    table = unfairness_table(pd.concat([rows("r", 0, [9, 8, 0], [10, 10, 0]), rows("r", 1, [9, 7, 0], [10, 10, 0])]))
    assert table["n_classes"].tolist() == [2, 2]
    assert table["max_min"].tolist() == pytest.approx([0.1, 0.2])
    assert table["worst_class"].tolist() == pytest.approx([0.2, 0.3])


def test_classes_are_compared_with_dense_by_name_not_by_place() -> None:
    dense = rows("r", 0, [10, 5, 8], [10] * 3)
    pruned = rows("r", 1, [9, 4, 8], [10] * 3).iloc[1:]
    assert unfairness_table(pd.concat([dense, pruned]))["change_range"][1] == pytest.approx(0.1)


def test_dense_level_is_the_reference_of_itself() -> None:
    dense = unfairness_table(random_classes(5)).query("level == 0")
    assert (dense["change_range"] == 0).all() and (dense["excessive_loss_gap"] == 0).all()
    assert dense["intensification"].to_numpy() == pytest.approx(1)


def test_measures_that_need_dense_are_nan_without_it() -> None:
    table = unfairness_table(random_classes(6).query("level > 0 or run != 'r1'"))
    orphans, whole = table[table["run"] == "r1"], table[table["run"] != "r1"]
    for key, row in UNFAIRNESS.items():
        needs_dense = bool({"dense", "dense_loss"} & set(row.needs))
        assert orphans[key].isna().all() == needs_dense
        assert whole[key].notna().all()
        assert unfairness_reason(orphans.iloc[0], key) == (NO_DENSE if needs_dense else "")


def test_reason_names_what_is_missing() -> None:
    one_class = unfairness_table(rows("r", 0, [9], [10])).iloc[0]
    assert unfairness_reason(one_class, "max_min") == TOO_FEW_CLASSES
    assert unfairness_reason(one_class, "worst_class") == ""
    even = unfairness_table(rows("r", 0, [9, 9], [10, 10], [np.nan, np.nan])).iloc[0]
    assert unfairness_reason(even, "excessive_loss_gap") == NO_LOSS
    assert unfairness_reason(even, "intensification") == NO_SLOPE
    assert even["max_min"] == 0
    assert unfairness_reason(one_class, "max_min", "region") == TOO_FEW_GROUPS
    assert unfairness_reason(even, "excessive_loss_gap", "region") == NO_GROUP_LOSS
    assert "class" not in unfairness_reason(even, "intensification", "region")


@pytest.mark.parametrize("row", UNFAIRNESS.values(), ids=lambda row: row.key)
def test_words_speak_of_groups_where_groups_are_measured(row: UnfairnessRow) -> None:
    assert (row.label_between(), row.help_between("class")) == (row.label, row.help)
    words = row.label_between("region") + row.help_between("region")
    assert "class" not in words and ("class" not in row.help or "group" in words)
    assert UNFAIRNESS["worst_class"].label_between("region") == "Worst group error"


def test_another_baseline_takes_the_place_of_dense() -> None:
    classes = pd.concat([rows("r", 0, [90, 90], [100] * 2), rows("r", 1, [95, 85], [100] * 2, [0.3, 0.4])])
    since_dense = unfairness_table(classes).iloc[1]
    assert since_dense["largest_loss"] == pytest.approx(0.05)
    control = classes.assign(baseline=[0.9, 0.9, 0.97, 0.99], baseline_loss=[0.1, 0.1, 0.2, 0.1])
    since_control = unfairness_table(control).iloc[1]
    assert since_control["largest_loss"] == pytest.approx(0.14)
    assert since_control["change_range"] == pytest.approx(0.12)
    assert since_control["excessive_loss_gap"] == pytest.approx(0.2)
    assert since_control["max_min"] == since_dense["max_min"]
    without = unfairness_table(control.assign(baseline=[0.9, 0.9, np.nan, np.nan]))
    assert without["has_dense"].tolist() == [True, False] and np.isnan(without["largest_loss"][1])
    assert unfairness_reason(without.iloc[1], "largest_loss") == NO_DENSE


def test_infinite_loss_stays_infinite() -> None:
    classes = pd.concat([rows("r", 0, [9, 9], [10, 10]), rows("r", 1, [9, 1], [10, 10], [0.2, np.inf])])
    assert unfairness_table(classes)["excessive_loss_gap"].tolist() == [0, np.inf]


def test_intensification_is_the_alpha_of_distortion() -> None:
    classes = random_classes(7)
    assert unfairness_table(classes)["intensification"].to_numpy() == pytest.approx(alphas(classes)["alpha"].to_numpy())


def test_table_keeps_identity_and_only_the_measures_asked_for() -> None:
    table = unfairness_table(random_classes(8), ["worst_class"])
    assert list(table) == ["run", *MODEL, "seed", "level", "sparsity", "n_classes", "has_dense", "worst_class"]


def test_empty_table_gives_an_empty_table() -> None:
    table = unfairness_table(random_classes(0).iloc[:0])
    assert table.empty and set(UNFAIRNESS) <= set(table)


def test_row_that_stands_twice_is_refused() -> None:
    with pytest.raises(PruneScopeError, match="twice"):
        unfairness_table(pd.concat([rows("r", 0, [1, 2], [3, 3])] * 2))


def test_equal_classes_are_never_below_zero() -> None:
    classes = pd.concat([rows(f"r{k}", 0, [k] * 7, [100] * 7) for k in range(1, 100)])
    table = unfairness_table(classes, ["max_min", "mean_min", "standard_deviation"])
    values = table[["max_min", "mean_min", "standard_deviation"]].to_numpy()
    assert (values >= 0).all() and values == pytest.approx(0)


@pytest.mark.parametrize("row", UNFAIRNESS.values(), ids=lambda row: row.key)
def test_points_shrink_as_the_errors_do_and_plain_numbers_do_not(row: UnfairnessRow) -> None:
    rates = {"accuracy": np.array([[0.2, 0.6, 1.0]]), "dense": np.array([[0.7, 0.9, 0.4]])}
    fixed = {"loss": np.array([[2.0, 1.0, 0.5]]), "dense_loss": np.array([[1.0, 1.0, 1.0]]), "n": np.array([[9, 9, 9]])}
    values = []
    for part in (1.0, 0.5):
        inputs = {name: 1 - part * (1 - rate) for name, rate in rates.items()} | fixed
        values.append(row.compute(*(inputs[name] for name in row.needs)).item())
    assert (row.unit == "points") == np.isclose(values[1], values[0] / 2)
