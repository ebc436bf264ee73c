"""Operating points on halves of the members, kept between reruns: for a Frontier that has no validation split."""

from dataclasses import dataclass

import numpy as np
import streamlit as st

from engine.analysis.binary_rates import MEASURES
from engine.analysis.curves.baseline import CONTROL
from engine.analysis.example_columns import member_columns
from engine.analysis.frontier.validation_choice import Halves, half_numbers
from pages.shared.cache.between import Between, answered
from pages.shared.cache.catalog import example_set, examples
from pages.shared.cache.points import by_seed, counted_baselines

MANY_RUNS = 600
"""Runs beyond which halves are not counted: it would take longer than somebody waits for a page."""


@dataclass(frozen=True, eq=False)
class HalfPoints:
    """Means over seeds by point's number, split and half: (n_points, n_splits, 2)."""

    accuracy: np.ndarray
    unfairness: np.ndarray
    members: str
    """Who fell into halves: a column of the examples, or nothing for the examples themselves."""


@st.cache_resource(max_entries=16, show_spinner="Choosing on halves …")
def half_points(between: Between, measure: str) -> HalfPoints | None:
    """The operating points on one half of the members and on the other; None for too many runs."""
    models = by_seed(between)
    runs = [str(run) for run in models["run"].unique()]
    if len(runs) > MANY_RUNS:
        return None
    table = examples(between.source, example_set(between.source, between.experiment))
    columns = member_columns(table)
    halves, accuracy, unfairness = None, {}, {}
    pairs = counted_baselines(between)
    pairs = pairs[(pairs["kind"] == CONTROL) & MEASURES[measure].needs_dense]
    control_of = dict(zip(pairs["run"], pairs["baseline"], strict=True))
    controls = {part.run: part for part in answered(between, sorted(set(control_of.values())))}
    controlled = set(zip(pairs["run"], pairs["level"].astype(int), strict=True))
    for part in answered(between, runs):
        member = table[columns[0]].to_numpy() if columns else np.arange(len(table))
        halves = halves or Halves.of(member, part.grouping.code, len(part.grouping.groups))
        start = np.flatnonzero(part.levels == 0)
        dense = np.full(len(part.levels), start[0] if len(start) else -1)
        right = part.right
        if part.run in control_of:
            beside = controls[control_of[part.run]]
            right = np.concatenate([right, beside.right])
            rows = {int(level): len(part.right) + row for row, level in enumerate(beside.levels)}
            mine = [rows[level] if (part.run, level) in controlled else dense[0] for level in part.levels.tolist()]
            dense = np.append(mine, np.full(len(beside.right), -1)).astype(int)
        numbers = half_numbers(halves.counts(right), halves.sizes, dense, measure)
        for place, level in enumerate(part.levels.tolist()):
            accuracy[part.run, level], unfairness[part.run, level] = (number[place] for number in numbers)
    keys = list(zip(models["run"].astype(str), models["level"].astype(int), strict=True))
    point, n = models["point"].to_numpy(), np.bincount(models["point"])
    means = []
    for numbers_of in (accuracy, unfairness):
        total = np.zeros((len(n), *numbers_of[keys[0]].shape))
        np.add.at(total, point, np.stack([numbers_of[key] for key in keys]))
        means.append(total / np.maximum(n, 1)[:, None, None])
    return HalfPoints(means[0], means[1], columns[0] if columns else "")
