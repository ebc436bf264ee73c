"""What members, such as writers, say of operating points, kept between reruns: for the Frontier."""

import numpy as np
import pandas as pd
import streamlit as st

from engine.analysis.binary_rates import MEASURES
from engine.analysis.example_columns import member_columns
from engine.analysis.frontier.point_losses import change_intervals
from engine.analysis.frontier.resampling import MOST_ENUMERATED, SeedGrid, seed_grid
from engine.analysis.members.member_resampling import MemberAnswers, member_answers, member_grid
from engine.analysis.members.shrunk_changes import shrunk_changes
from engine.analysis.uncertainty.clusters import cluster_codes
from engine.errors import PruneScopeError
from pages.shared.cache.between import TEST, Answered, Between, answered, example_columns, test_grouping
from pages.shared.cache.catalog import example_set, examples
from pages.shared.cache.controls import baselines
from pages.shared.cache.pairs import Asked, pair

N_DRAWN = 500
MOST_PRODUCTS = 4_000_000_000
"""Models times cells of members times draws up to which members are drawn again: some seconds, once."""


def grid_of(between: Between, measure: str, models: pd.DataFrame, pairs: pd.DataFrame) -> SeedGrid:
    """The models' numbers laid out for resampling: every resample of few seeds, beyond them draws of seeds and of the
    test examples' members at once. Where the answers of members are not there or too many, seeds alone are drawn; on
    validation too, where each seed has examples of its own.

    `pairs` are the baselines that measures of a change are since.
    """
    few = models["seed"].nunique() <= MOST_ENUMERATED
    needs = set(MEASURES[measure].needs)
    if few or between.split != TEST or not needs <= {"accuracy", "dense", "n"}:
        return seed_grid(models, measure)
    try:
        answers = _member_answers(between, models, pairs)
    except PruneScopeError:  # the predictions of some runs are gone
        answers = None
    return seed_grid(models, measure) if answers is None else member_grid(answers, measure, N_DRAWN)


@st.cache_resource(max_entries=64, show_spinner=False)
def member_changes(between: Between, runs: tuple[tuple[str, int], ...], baseline: str) -> pd.DataFrame | None:
    """What each member lost in some runs at a level each, pulled to the mean of all (`shrunk_changes`), by the number
    of the group; None where a run has no baseline or the groups are no members."""
    if not set(between.columns) & set(example_columns(between.source, between.experiment).members):
        return None
    pairs = baselines(between.source, between.experiment, baseline).set_index(["run", "level"])
    if not all(key in pairs.index for key in runs):
        return None
    before = [(str(row["baseline"]), int(row["baseline_level"])) for _, row in pairs.loc[list(runs)].iterrows()]
    parts = {part.run: part for part in answered(between, sorted({run for run, _ in (*runs, *before)}))}
    changes = [_right(parts, after) - _right(parts, was) for after, was in zip(runs, before, strict=True)]
    grouping = next(iter(parts.values())).grouping
    return shrunk_changes(np.stack(changes), grouping.code, len(grouping.groups))


@st.cache_resource(max_entries=256, show_spinner=False)
def group_intervals(
    between: Between, runs: tuple[str, ...], level: int, baseline: str, n_many: int
) -> pd.DataFrame | None:
    """The interval of each group's change on the test split in some runs at a level (`change_intervals`), by the
    group's name; None where a run has no baseline."""
    table, grouping = examples(between.source, example_set(between.source, between.experiment)), test_grouping(between)
    compared = pair(Asked(between.source, between.experiment, runs, baseline), level)
    if compared is None or len(compared.runs) < len(runs):
        return None
    label, names = table["label"].to_numpy(), list(grouping.groups)
    changes = (compared.after == label).astype(float) - (compared.before == label)
    return change_intervals(changes, grouping.code, cluster_codes(table), len(names), n_many).set_axis(names)


def _right(parts: dict[str, Answered], key: tuple[str, int]) -> np.ndarray:
    part = parts[key[0]]
    right: np.ndarray = part.right[np.flatnonzero(part.levels == key[1])[0]].astype(float)
    return right


def _member_answers(between: Between, models: pd.DataFrame, pairs: pd.DataFrame) -> MemberAnswers | None:
    """Answers of all models and of their controls; None where they are too many, or some are not there."""
    table = examples(between.source, example_set(between.source, between.experiment))
    columns = member_columns(table)
    member = pd.factorize(table[columns[0]])[0] if columns else np.arange(len(table))
    n_members = int(member.max()) + 1
    member = np.where(member < 0, n_members + np.arange(len(member)), member)
    if len(models) * len(np.unique(member)) * N_DRAWN > MOST_PRODUCTS:
        return None
    keys = list(zip(models["run"].astype(str), models["level"].astype(int), strict=True))
    before = dict(zip(zip(pairs["run"], pairs["level"], strict=True), _baseline_keys(pairs), strict=True))
    beside = sorted({before[key] for key in keys if key in before} - set(keys))
    place = {key: row for row, key in enumerate([*keys, *beside])}
    right, code, n_read = np.zeros((len(place), len(table)), bool), np.zeros(0, int), 0
    for part in answered(between, sorted({run for run, _ in place})):
        code = part.grouping.code
        n_cells = min(len(table), len(np.unique(member)) * (len(part.grouping.groups) + 1))
        if len(place) * n_cells * N_DRAWN > MOST_PRODUCTS:
            return None
        for level, row in zip(part.levels.tolist(), part.right, strict=True):
            if (part.run, level) in place:
                right[place[part.run, level]] = row
                n_read += 1
    if n_read < len(place):
        return None
    return member_answers(
        models[["point", "seed", "sparsity"]].reset_index(drop=True),
        np.array([place[before[key]] if key in before else -1 for key in keys]),
        right,
        code,
        member,
    )


def _baseline_keys(pairs: pd.DataFrame) -> list[tuple[str, int]]:
    return list(zip(pairs["baseline"].astype(str), pairs["baseline_level"].astype(int), strict=True))
