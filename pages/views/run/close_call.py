"""How many seeds a close call needs, and the runs that are those seeds."""

import numpy as np
import streamlit as st

from engine.analysis.frontier.choice import choose
from engine.analysis.frontier.stability import agreement
from engine.analysis.uncertainty.seeds_needed import seeds_needed
from engine.analysis.unfairness import UNFAIRNESS
from engine.errors import PruneScopeError
from engine.jobs.job_request import runs_of
from engine.run_spec import RunSpec
from engine.specs.preset import Preset
from pages.shared import bound, formats
from pages.shared.cache.between import Between
from pages.shared.cache.catalog import Experiment, Source
from pages.shared.cache.points import by_seed, by_seed_and_point, operating
from pages.shared.names import measure_name, point_name
from pages.views.run.words import seeds_sentence

WEIGHTS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


def settle(source: Source, experiment: Experiment, specs: list[RunSpec]) -> tuple[Preset, str]:
    """The runs that would settle the choice of an experiment, and what is said of that."""
    between = Between(source, experiment)
    points = operating(between)
    dense = points[points["level"] == 0]
    usual = 100 * float(dense["accuracy"].mean() if len(dense) else points["accuracy"].max()) - 1
    first, second, third = st.columns(3, gap="medium")
    names = {measure_name(key): key for key in UNFAIRNESS if key in points and points[key].notna().any()}
    measure = names[bound.selectbox("Unfairness", list(names), key="settle-measure", where=first)]
    floor = bound.number_input(
        "Accuracy at least (%)", 0, 100, round(min(max(usual, 0), 100), 1), key="settle-floor", where=second, step=0.1
    )
    weight = bound.selectbox(
        "Fairness counts", WEIGHTS, 2, key="settle-weight", where=third, format_func=lambda w: f"{w:g} times as much"
    )
    choice = choose(points, (floor or 0.0) / 100, weight, measure)
    if choice.chosen is None:
        raise PruneScopeError(f"There is no choice to settle: {choice.reason}.")
    grid = by_seed_and_point(between, measure)
    found = agreement(points, by_seed(between), choice, grid=grid)
    rival = found.verdict.rival if found.verdict.rival is not None else choice.runner_up
    if rival is None:
        raise PruneScopeError("Only one network can be chosen, so that there is nothing to settle.")
    number = points["point"].to_numpy()
    values = grid.sparsity - weight * grid.unfairness
    needed = seeds_needed(values[:, number[choice.chosen]], values[:, number[rival]])
    chosen, other = (point_name(points.iloc[place].to_dict()) for place in (choice.chosen, rival))
    word = f"The choice is **{found.verdict.word}**, {formats.percent(found.verdict.share, 0)} of redraws agree. "
    st.markdown((word if found.verdict.word else "") + seeds_sentence(needed, chosen, other))
    if np.isnan(needed.n) or needed.n <= needed.n_now:
        raise PruneScopeError("So there is nothing to run for it.")
    rows = [points.iloc[place] for place in (choice.chosen, rival)]
    kinds = {tuple(str(row[name]) for name in ("technique", "treatment", "mitigation")) for row in rows}
    contenders = [spec for spec in specs if (spec.technique, spec.treatment, spec.mitigation) in kinds]
    seeds = sorted({spec.seed for spec in contenders})
    new = range(seeds[-1] + 1, seeds[-1] + 1 + int(needed.n) - needed.n_now)
    bases = {spec.key: spec for spec in contenders for spec in runs_of(spec, [{"seed": 0}])}
    runs = tuple(run for seed in new for spec in bases.values() for run in runs_of(spec, [{"seed": seed}]))
    title = f"{len(new)} more seed{'s' * (len(new) > 1)} for a close call"
    return Preset("close-call", title, "", runs), ""
