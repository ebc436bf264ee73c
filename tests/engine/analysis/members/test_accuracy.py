"""Members of a grouping against plain loops."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from engine.analysis.members.accuracy import NOBODY, hit_hardest, member_accuracy, member_facts, n_losing


def examples(n: int = 400, seed: int = 0) -> pd.DataFrame:
    """Digits by 20 writers of two series, with a fold that cuts across writers and a few digits of nobody."""
    rng = np.random.default_rng(seed)
    writer = rng.integers(0, 20, n)
    table = pd.DataFrame(
        {"example": range(n), "label": rng.integers(0, 10, n), "series": writer % 2, "fold": rng.integers(0, 2, n)}
    )
    table["series"] = table["series"].map({0: "hsf0", 1: "hsf4"}).astype("category")
    table["writer"] = pd.array(writer, dtype="Int64")
    table.loc[:4, "writer"] = pd.NA
    return table.assign(abs_tilt=writer / 20 + rng.normal(0, 0.01, n), entropy=rng.random(n))


def predictions(table: pd.DataFrame, right: float, n_seeds: int, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    wrong = rng.random((n_seeds, len(table))) > right
    return ((table["label"].to_numpy() + wrong) % 10).astype(np.uint8)


def test_member_accuracy_equals_a_plain_loop() -> None:
    table = examples()
    before, after = predictions(table, 0.95, 3), predictions(table, 0.8, 3, seed=2)
    members = member_accuracy(table, before, after, "writer")
    assert list(members)[:3] == ["writer", "series", "n"] and members["writer"].is_unique
    assert members["n"].sum() == table["writer"].notna().sum()
    label = table["label"].to_numpy()
    for _, row in members.iterrows():
        mine = (table["writer"] == row["writer"]).fillna(False).to_numpy(bool)
        rates = [np.mean([(p[mine] == label[mine]).mean() for p in moment]) for moment in (before, after)]
        assert (row["before"], row["after"]) == pytest.approx(tuple(rates))
        assert row["change"] == pytest.approx(rates[1] - rates[0])
        assert row["series"] == table["series"][mine].iloc[0]
        assert row["abs_tilt"] == pytest.approx(table["abs_tilt"][mine].mean())
        expected = proportion_confint(rates[1] * mine.sum(), mine.sum(), method="wilson")
        assert (row["after_low"], row["after_high"]) == pytest.approx(expected)


def test_one_run_may_come_as_one_row() -> None:
    table = examples()
    before, after = predictions(table, 0.95, 1), predictions(table, 0.8, 1, seed=2)
    pd.testing.assert_frame_equal(
        member_accuracy(table, before[0], after[0], "writer"), member_accuracy(table, before, after, "writer")
    )


def test_any_column_may_be_the_grouping_and_small_members_may_be_left_out() -> None:
    table = examples()
    before, after = predictions(table, 0.95, 1), predictions(table, 0.8, 1)
    assert member_accuracy(table, before, after, "series")["series"].tolist() == ["hsf0", "hsf4"]
    members = member_accuracy(table, before, after, "writer")
    few = member_accuracy(table, before, after, "writer", minimum=20)
    assert few["writer"].tolist() == members["writer"][members["n"] >= 20].tolist()
    assert 0 < len(few) < len(members)


def test_hit_hardest_are_those_that_lose_most() -> None:
    table = pd.DataFrame({"writer": list("abcd"), "n": [5, 9, 7, 8], "change": [-0.1, -0.3, 0.0, -0.3]})
    assert hit_hardest(table, 3)["writer"].tolist() == ["b", "d", "a"]


def test_facts_state_the_worst_member() -> None:
    table = examples(4000)
    before = predictions(table, 1.0, 1)
    harm = np.random.default_rng(5).random(4000) < table["abs_tilt"] / 2
    after = ((table["label"] + harm) % 10).to_numpy()
    members = member_accuracy(table, before, after, "writer")
    facts = member_facts(members, loss=0.05)
    worst = members.loc[members["change"].idxmin()]
    assert (facts.worst, facts.worst_n) == (str(worst["writer"]), worst["n"])
    assert facts.worst_before == 1 and facts.worst_after == pytest.approx(worst["after"])
    assert facts.n_members == 20 and facts.n_losing == (members["change"] <= members["change"].mean() - 0.05).sum()
    assert 0 < facts.n_losing < (members["change"] <= -0.05).sum() and facts.mean_before == 1


def test_losses_are_counted_against_the_mean_member_and_at_the_limit() -> None:
    changes = np.array([[-0.30, -0.20, -0.20, -0.10], [0.0, 0.1, -0.1, 0.0], [-0.5, -0.5, -0.5, -0.5]])
    assert n_losing(changes, 0.1).tolist() == [1, 1, 0]


def test_no_members_give_facts_with_a_reason() -> None:
    table = examples().iloc[:5]
    members = member_accuracy(table, predictions(table, 1.0, 1), predictions(table, 1.0, 1), "writer")
    facts = member_facts(members)
    assert members.empty and facts.n_members == 0 and facts.worst is None and facts.reason == NOBODY
