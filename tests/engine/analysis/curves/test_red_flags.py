"""Red flags against a plain loop, with planted harm."""

import os

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from engine.analysis.columns import MODEL
from engine.analysis.curves.controls import Controls
from engine.analysis.curves.red_flags import NO_DENSE, NO_FLAG, NONE_WITHIN, headline, red_flags
from engine.analysis.group_counts import group_counts
from engine.analysis.member_counts import member_counts
from engine.analysis.uncertainty.clusters import clustered_rates, layout
from engine.analysis.uncertainty.simultaneous import max_t_interval
from tests.support.study_tables import IDENTITY, study_tables

FULL_RUN = os.environ.get("PRUNESCOPE_FULL") == "1"


def planted(n_seeds: int = 3) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Ten classes of 1,000: class 7 loses 8 points at level 2, which keeps the total; level 3 loses it. Writers in
    series hsf4 lose 3 points at level 2."""
    levels, classes, groups = [], [], []
    for seed in range(n_seeds):
        identity = {"run": f"r{seed}", **IDENTITY, "technique": "global", "seed": seed}
        for level in range(4):
            place = identity | {"level": level, "sparsity": 1 - 0.8**level}
            correct = np.full(10, 960) - (200 if level == 3 else 0)
            correct[1] = 940
            correct[7] -= {2: 80 + seed}.get(level, 0)
            levels.append(place | {"accuracy": correct.sum() / 10_000})
            classes += [place | {"class": k, "n": 1000, "correct": c} for k, c in enumerate(correct)]
            right = {"hsf0": 970, "hsf4": 960 - (30 if level == 2 else 0)}
            groups += [place | {"grouping": "series", "group": g, "n": 1000, "correct": c} for g, c in right.items()]
    return pd.DataFrame(levels), pd.DataFrame(classes), pd.DataFrame(groups)


def test_flags_name_the_planted_class_and_group() -> None:
    flags = red_flags(*planted())
    assert len(flags) == 1
    row = flags.iloc[0]
    assert row["level"] == 2 and row["sparsity"] == pytest.approx(0.36) and row["n_seeds"] == 3
    assert row["dense_accuracy"] == pytest.approx(0.958) and row["accuracy"] == pytest.approx(0.9499)
    changes = [-0.080, -0.081, -0.082]
    assert row["class"] == 7 and row["class_n"] == 1000 and row["class_change"] == pytest.approx(-0.081)
    interval = stats.t.interval(0.95**0.1, 2, -0.081, stats.sem(changes))
    assert (row["class_low"], row["class_high"]) == pytest.approx(interval)
    assert row["class_gap_dense"] == pytest.approx(0.02) and row["class_gap"] == pytest.approx(0.081)
    assert row["class_gap_times"] == pytest.approx(4.05)
    assert (row["grouping"], row["group"], row["group_n"]) == ("series", "hsf4", 1000)
    assert row["group_change"] == pytest.approx(-0.03) and row["group_gap_times"] == pytest.approx(4)
    assert row["reason"] == ""


def test_headline_states_the_largest_loss() -> None:
    levels, classes, groups = planted()
    fact = headline(red_flags(levels, classes, groups))
    assert (fact.n_models, fact.n_flagged, fact.grouping, fact.group, fact.n) == (1, 1, "class", "7", 1000)
    assert fact.change == pytest.approx(-0.081) and fact.gap_times == pytest.approx(4.05) and fact.level == 2
    assert fact.model[MODEL.index("technique")] == "global"
    paying = groups[(groups["group"] == "hsf4") & (groups["level"] == 2)].index
    groups.loc[paying, "correct"] = 500 + np.linspace(-4, 4, len(paying))
    fact = headline(red_flags(levels, classes, groups))
    assert (fact.grouping, fact.group) == ("series", "hsf4") and fact.change == pytest.approx(-0.46)
    flags = red_flags(levels, classes, groups)
    assert headline(flags.assign(group_high=0.01)).grouping == "class", "the larger loss may be chance"
    assert headline(flags.assign(group_high=-0.001)).grouping == "class", "less of the larger loss is sure"
    assert headline(flags.assign(group_high=0.01, class_high=0.01)).grouping == "series", "each may be"


@pytest.mark.parametrize("within", [0.01, 0.05, 0.2])
def test_flags_equal_a_plain_loop(within: float) -> None:
    levels, classes = study_tables(seed=4, n=400)
    flags = red_flags(levels.astype({"run": "category"}), classes, within=within).set_index("technique")
    accuracy = classes.assign(accuracy=classes["correct"] / classes["n"].where(classes["n"] > 0))
    for technique in ("global", "random"):
        mine = levels[levels["technique"] == technique].groupby("level")["accuracy"].mean()
        kept = [level for level in mine.index[1:] if mine[level] >= mine[0] - within]
        row = flags.loc[technique]
        if not kept:
            assert row["reason"] == NONE_WITHIN and pd.isna(row["level"]) and np.isnan(row["class_change"])
            continue
        assert row["level"] == max(kept)
        runs = accuracy[accuracy["technique"] == technique].pivot(
            index=["level", "class"], columns="seed", values="accuracy"
        )
        changes = (runs.loc[max(kept)] - runs.loc[0]).dropna()
        low, high = max_t_interval(changes.T)
        sure = pd.Series(high, changes.index)
        worst = sure.idxmin() if sure.min() < 0 else changes.mean(axis=1).idxmin()
        assert row["class"] == worst and row["class_change"] == pytest.approx(changes.mean(axis=1)[worst])
        assert row["class_low"] == pytest.approx(low[changes.index.get_loc(worst)])
        assert row["class_high"] == pytest.approx(sure[worst])
        gaps = [(runs.loc[level].max() - runs.loc[level].min()).mean() for level in (max(kept), 0)]
        assert row["class_gap_times"] == pytest.approx(gaps[0] / gaps[1])


@pytest.mark.parametrize("within", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("n_controls", [3, 2])
def test_flags_against_controls_equal_a_plain_loop(within: float, n_controls: int) -> None:
    levels, classes = (table.assign(treatment="finetune") for table in study_tables(seed=4, n=400, n_seeds=3))
    quantized = "int8_static"
    levels, classes = (table.replace({"technique": {"random": quantized}}) for table in (levels, classes))
    trained = [table.assign(technique="unpruned") for table in study_tables(("global",), seed=9, n=400, n_seeds=3)]
    trained = [table.assign(run="c" + table["run"].astype(str)) for table in trained]
    controls = Controls(*(table[table["seed"] < n_controls] for table in trained), untrained=frozenset({quantized}))
    flags = red_flags(levels.astype({"run": "category"}), classes, within=within, controls=controls)
    rows, alone = flags.set_index("technique"), red_flags(levels, classes, within=within).set_index("technique")
    plain = ["level", "accuracy", "dense_accuracy", "class", "class_change", "class_gap_times", "reason"]
    assert rows.loc[quantized, plain].equals(alone.loc[quantized, plain]), "it never trained longer"
    row, mine = rows.loc["global"], levels[levels["technique"] == "global"].groupby("level")["accuracy"].mean()
    if n_controls < 3:
        assert not row["controlled"] and row[plain].equals(alone.loc["global", plain])
        return
    theirs = controls.levels.groupby("level")["accuracy"].mean()
    kept = [level for level in mine.index[1:] if mine[level] >= theirs[level] - within]
    if not kept:
        assert row["reason"] == NONE_WITHIN
        return
    assert row["controlled"] and row["level"] == max(kept)
    assert row["dense_accuracy"] == pytest.approx(theirs[max(kept)])

    def at(table: pd.DataFrame) -> pd.DataFrame:
        wide = table[table["level"] == max(kept)].assign(accuracy=lambda t: t["correct"] / t["n"].where(t["n"] > 0))
        return wide.pivot(index="class", columns="seed", values="accuracy")

    ours, others = at(classes[classes["technique"] == "global"]), at(controls.classes)
    change = (ours - others).mean(axis=1)
    assert row["class"] == change.idxmin() and row["class_change"] == pytest.approx(change.min())
    gap, other = ((table.max() - table.min()).mean() for table in (ours, others))
    assert row["class_gap_times"] == pytest.approx(gap / other)


def test_groups_are_compared_with_those_of_the_control() -> None:
    levels, classes, groups = (table.assign(treatment="finetune") for table in planted())
    trained = [table.assign(run="c" + table["run"], technique="unpruned") for table in (levels, classes, groups)]
    trained[2] = trained[2].assign(correct=900)
    row = red_flags(levels, classes, groups, controls=Controls(*trained)).iloc[0]
    assert row["controlled"] and row["level"] == 3 and row["class_change"] == 0, "the control is the same network"
    assert row["group"] == "hsf4" and row["group_change"] == pytest.approx(0.06)


def test_gap_that_was_zero_has_no_ratio() -> None:
    levels, classes, groups = planted()
    groups.loc[groups["level"] == 0, "correct"] = 960
    row = red_flags(levels, classes, groups).iloc[0]
    assert row["group_gap_dense"] == 0 and row["group_gap"] > 0 and np.isnan(row["group_gap_times"])


def test_one_seed_has_a_change_and_no_interval() -> None:
    row = red_flags(*planted(n_seeds=1)).iloc[0]
    assert row["class"] == 7 and np.isnan(row["class_low"]) and row["n_seeds"] == 1


def test_model_without_flag_says_why() -> None:
    levels, classes, groups = planted()
    pruned = [table[table["level"] > 0] for table in (levels, classes, groups)]
    flags = red_flags(*pruned)
    assert flags["reason"].tolist() == [NO_DENSE]
    fact = headline(flags)
    assert fact.reason == NO_FLAG and fact.n_models == 1 and fact.change is None


def test_columns_do_not_depend_on_groups_and_an_empty_study_is_fine() -> None:
    levels, classes, groups = planted()
    assert list(red_flags(levels, classes)) == list(red_flags(levels, classes, groups))
    flags = red_flags(levels.iloc[:0], classes.iloc[:0], groups.iloc[:0])
    assert flags.empty and headline(flags).reason == NO_FLAG


def test_groups_with_members_have_the_variance_of_new_members() -> None:
    """Two series of thirty writers: the flag's interval is that of each series' change, at once for both."""
    random = np.random.default_rng(0)
    writer = np.repeat(np.arange(60), 10)
    series = np.where(writer < 30, "a", "b")
    examples = pd.DataFrame({"label": 0, "writer": writer, "series": series})
    chance = np.where(series == "b", 0.7, 0.8) + random.uniform(-0.2, 0.2, 60)[writer]
    right = {
        (f"r{seed}", level): random.random(600) < (chance if level else 0.9) for seed in range(4) for level in (0, 1)
    }
    models = pd.DataFrame(list(right), columns=["run", "level"])
    counts = member_counts(examples, models, np.stack(list(right.values())), ["series"])
    plain = group_counts(examples, models, np.stack(list(right.values())), ["series"])
    sums = counts.groupby(["run", "level", "grouping", "group"], as_index=False)[["n", "correct"]].sum()
    pd.testing.assert_frame_equal(
        sums, plain.sort_values(["run", "level", "group"], ignore_index=True), check_dtype=False
    )
    levels = pd.DataFrame(
        [{"run": run, **IDENTITY, "technique": "x", "seed": run, "level": level} for run, level in right]
    ).assign(sparsity=0.5, accuracy=0.9)
    classes = levels.assign(**{"class": 0, "n": 600, "correct": 500})
    clustered, alone = (red_flags(levels, classes, groups).iloc[0] for groups in (counts, plain))
    change = np.stack([right[f"r{seed}", 1] * 1.0 - right[f"r{seed}", 0] for seed in range(4)])
    expected = clustered_rates(change, layout((series == "b").astype(int), writer, 2))
    low, high = expected.interval(0.95**0.5)
    assert clustered["group"] == alone["group"] == "b"
    assert clustered["group_change"] == pytest.approx(expected.value[1]) == pytest.approx(alone["group_change"])
    assert (clustered["group_low"], clustered["group_high"]) == pytest.approx((low[1], high[1]))
    assert clustered["group_high"] > alone["group_high"]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("n_classes", [1, 10])
def test_intervals_of_class_changes_cover_the_truth(n_classes: int) -> None:
    """From counts of right answers: one class's interval holds in 93 to 97 %; that of the worst of ten, picked after
    looking, in 93 % at least. Seeds differ, and examples are hard for all of them alike."""
    random, n_draws = np.random.default_rng(n_classes), 1000 if FULL_RUN else 150
    n_seeds, n_each = 6, 300
    hard = random.beta(0.5, 6, (n_classes, n_each))
    losses = np.linspace(0.02, 0.05, n_classes)[:, None]
    truth = np.clip(hard + losses, 0, 1).mean(axis=1) - hard.mean(axis=1)
    levels = pd.DataFrame(
        [
            {"run": f"r{seed}", **IDENTITY, "technique": "x", "seed": seed, "level": level, "sparsity": 0.5 * level}
            for seed in range(n_seeds)
            for level in (0, 1)
        ]
    ).assign(accuracy=0.9)
    rows = levels.iloc[np.repeat(np.arange(len(levels)), n_classes)].reset_index(drop=True)
    rows = rows.assign(**{"class": np.tile(np.arange(n_classes), len(levels)), "n": n_each})
    hits = []
    for _ in range(n_draws):
        shift = random.normal(0, 0.01, (n_seeds, 2, n_classes, 1))
        chance = np.stack([hard, np.clip(hard + losses, 0, 1)])[None] + shift
        wrong = (random.random(chance.shape[:3] + (n_each,)) < chance).sum(axis=3)
        flag = red_flags(levels, rows.assign(correct=n_each - wrong.ravel())).iloc[0]
        hits.append(flag["class_low"] <= -truth[int(flag["class"])] <= flag["class_high"])
    slack = 0.0 if FULL_RUN else 0.03
    assert np.mean(hits) >= 0.93 - slack and (n_classes > 1 or np.mean(hits) <= 0.97 + slack)
