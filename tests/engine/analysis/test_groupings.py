"""Groupings against plain loops over examples, and the gap between groups against fairlearn."""

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import MetricFrame
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.analysis.columns import MODEL
from engine.analysis.frontier.points import operating_points
from engine.analysis.groupings import LEAST, NO_VALUE, group_rows, group_unfairness_table, grouping_of
from engine.analysis.unfairness import NO_GROUP_LOSS, TOO_FEW_GROUPS, UNFAIRNESS, unfairness_reason, unfairness_table


def made_examples(seed: int = 0, n: int = 400) -> pd.DataFrame:
    """Examples with a text column that has gaps, a number and a category with a rare value."""
    rng = np.random.default_rng(seed)
    region = pd.Series(rng.choice(["rural", "urban", "sea"], n, p=[0.3, 0.67, 0.03]))
    return pd.DataFrame(
        {
            "label": rng.integers(0, 3, n),
            "region": region.where(rng.random(n) > 0.05),
            "writer": rng.integers(9, 12, n),
            "kind": pd.Categorical(rng.choice(["a", "b"], n), ["b", "a", "never"]),
        }
    )


def levels_of(models: pd.DataFrame) -> pd.DataFrame:
    return models.assign(**dict.fromkeys(MODEL, "x"), seed=0, sparsity=models["level"] / 10, accuracy=0.9)


@pytest.mark.parametrize("columns", ["region", "writer", ("region", "class"), ("kind", "writer", "region")])
@pytest.mark.parametrize("least", [1, LEAST])
def test_groups_and_counts_equal_a_plain_loop(columns: str | tuple[str, ...], least: int) -> None:
    examples = made_examples()
    names = (columns,) if isinstance(columns, str) else columns
    grouping = grouping_of(examples, columns, least)
    rng = np.random.default_rng(1)
    right = rng.random((3, len(examples))) < 0.8
    models = pd.DataFrame({"run": "r", "level": [0, 1, 2]})
    rows = group_rows(models, right, grouping)
    assert list(rows) == ["run", "level", "place", "group", "n", "correct"]
    cells = examples[["label" if name == "class" else name for name in names]]
    members: dict[str, list[int]] = {}
    for place, row in enumerate(cells.itertuples(index=False)):
        if not any(pd.isna(value) for value in row):
            members.setdefault(" x ".join(map(str, row)), []).append(place)
    large = {name: places for name, places in members.items() if len(places) >= least}
    assert set(grouping.groups) == set(large) and grouping.name == " x ".join(names)
    small = grouping.left_out[grouping.left_out["group"] != NO_VALUE]
    assert dict(zip(small["group"], small["n"], strict=True)) == {
        name: len(places) for name, places in members.items() if name not in large
    }
    for row in rows.itertuples():
        places = large[row.group]
        assert (row.n, row.correct) == (len(places), right[row.level, places].sum())
    assert (grouping.code >= 0).sum() == sum(map(len, large.values()))


def test_numbers_stand_by_size_and_what_is_left_out_is_named() -> None:
    examples = made_examples()
    assert grouping_of(examples, "writer").groups == ("9", "10", "11")
    assert grouping_of(examples, "class", class_names=["cat", "dog", "owl"]).groups == ("cat", "dog", "owl")
    left_out = grouping_of(examples, "region").left_out.set_index("group")
    assert left_out.loc["sea", "reason"] == "fewer than 20 examples"
    assert left_out.loc[NO_VALUE, "n"] == examples["region"].isna().sum()
    assert grouping_of(examples, "kind").left_out.empty


def test_names_that_read_alike_stay_apart() -> None:
    examples = pd.DataFrame({"label": 0, "a": ["p x q", "p"], "b": ["r", "q x r"]})
    grouping = grouping_of(examples, ("a", "b"), least=1)
    assert grouping.groups == ("p x q x r", "p x q x r") or len(grouping.groups) == 2
    rows = group_rows(pd.DataFrame({"run": ["r"], "level": [0]}), np.array([[True, False]]), grouping)
    table = group_unfairness_table(levels_of(pd.DataFrame({"run": ["r"], "level": [0]})), rows)
    assert table["max_min"].tolist() == [1.0]


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_gap_between_groups_equals_fairlearn(data: st.DataObject) -> None:
    n = data.draw(st.integers(4, 60))
    label, predicted = (np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))) for _ in range(2))
    region = data.draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n).filter(lambda x: len(set(x)) > 1))
    examples = pd.DataFrame({"label": label, "region": region})
    models = pd.DataFrame({"run": ["r"], "level": [0]})
    rows = group_rows(models, (predicted == label)[None], grouping_of(examples, "region", least=1))
    table = group_unfairness_table(levels_of(models), rows)
    frame = MetricFrame(metrics=lambda y, p: (y == p).mean(), y_true=label, y_pred=predicted, sensitive_features=region)
    assert table["max_min"][0] == pytest.approx(frame.difference("between_groups"))
    assert table["worst_class"][0] == pytest.approx(1 - frame.group_min())


def test_table_between_classes_is_that_of_classes_and_serves_the_same_points() -> None:
    examples, rng = made_examples(), np.random.default_rng(2)
    right = rng.random((4, len(examples))) < 0.7
    models = pd.DataFrame({"run": ["a", "a", "b", "b"], "level": [0, 1, 0, 1]})
    levels = levels_of(models).assign(seed=[0, 0, 1, 1])
    rows = group_rows(models, right, grouping_of(examples, "class"))
    table = group_unfairness_table(levels, rows)
    classes = levels.drop(columns="accuracy").merge(rows.rename(columns={"place": "class"}), on=["run", "level"])
    pd.testing.assert_frame_equal(table, unfairness_table(classes.assign(loss=np.nan)))
    points = operating_points(levels, table)
    assert points["n_seeds"].tolist() == [2, 2] and points["largest_loss_n"].tolist() == [2, 2]


def test_what_groups_lack_is_nan_with_the_reason() -> None:
    examples = made_examples()
    models = pd.DataFrame({"run": "r", "level": [0, 1]})
    right = np.ones((2, len(examples)), bool)
    table = group_unfairness_table(levels_of(models), group_rows(models, right, grouping_of(examples, "region")))
    assert np.isnan(table["excessive_loss_gap"]).all() and table["max_min"].eq(0).all()
    assert unfairness_reason(table.iloc[1], "excessive_loss_gap", "region") == NO_GROUP_LOSS
    nobody = grouping_of(examples, "region", least=1000)
    table = group_unfairness_table(levels_of(models), group_rows(models, right, nobody))
    assert len(table) == 2 and table[list(UNFAIRNESS)].isna().all(axis=None) and table["n_classes"].eq(0).all()
    assert {unfairness_reason(table.iloc[1], key, "region") for key in UNFAIRNESS} == {TOO_FEW_GROUPS}
