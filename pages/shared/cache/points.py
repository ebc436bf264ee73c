"""Operating points between any groups and what is said of each, kept between reruns: for the Frontier."""

from collections.abc import Hashable, Mapping

import pandas as pd
import streamlit as st

from engine.analysis.binary_rates import POSITIVES, binary_measures
from engine.analysis.columns import CLASS, MODEL
from engine.analysis.curves import baseline as baselines_of
from engine.analysis.curves.baseline import CONTROL
from engine.analysis.curves.class_curves import class_curves, unfairness_curves
from engine.analysis.curves.worst_classes import worst_classes
from engine.analysis.frontier.choice import Choice
from engine.analysis.frontier.floors import with_extremes
from engine.analysis.frontier.frontier_band import frontier_band
from engine.analysis.frontier.point_losses import class_losses, pulled_losses
from engine.analysis.frontier.points import operating_points, seed_points
from engine.analysis.frontier.resampling import SeedGrid
from engine.analysis.frontier.tradeoffs.point_costs import with_costs
from engine.analysis.unfairness import unfairness_table
from engine.errors import PruneScopeError
from pages.shared.cache import catalog, extras
from pages.shared.cache.between import TEST, Between, example_columns, tally
from pages.shared.cache.controls import baselines, classes_with_controls
from pages.shared.cache.kept import remembered
from pages.shared.cache.member_points import grid_of, group_intervals, member_changes
from pages.shared.names import point_hovers


@remembered(max_entries=64, show_spinner=False)
def unfairness(between: Between) -> pd.DataFrame:
    """Every unfairness measure of every model, between these groups; those of a change are since the baseline, those of
    `binary_rates` are there between groups of a binary target."""
    pairs, counted = counted_baselines(between), tally(between)
    if (pairs["kind"] == CONTROL).any():
        table = unfairness_table(baselines_of.since_baselines(counted.counts, counted.control_counts, pairs))
    elif between.of_classes and between.split == TEST:
        return catalog.unfairness(between.source, between.experiment)
    else:
        table = unfairness_table(counted.counts)
    if POSITIVES not in counted.counts:
        return table
    return table.merge(binary_measures(counted.counts), on=["run", "level"], how="left")


@remembered(max_entries=64, show_spinner=False)
def counted_baselines(between: Between) -> pd.DataFrame:
    """The baseline of each model, by the choice in the frame, where its right answers were counted on this split."""
    if tally(between).control_counts.empty:
        return baselines(between.source, between.experiment, baselines_of.DENSE)
    pairs = baselines(between.source, between.experiment, between.baseline)
    kept = set(tally(between).control_counts["run"].astype(str))
    controlled = pairs["kind"] == CONTROL
    if pairs.loc[controlled, "baseline"].isin(kept).all():
        return pairs
    return baselines(between.source, between.experiment, baselines_of.DENSE)


@remembered(max_entries=256, show_spinner=False)
def unfairness_means(between: Between, measure: str) -> pd.DataFrame:
    """Mean unfairness of each model at each level, in one measure."""
    return unfairness_curves(unfairness(between), measure)


@remembered(max_entries=64, show_spinner=False)
def operating(between: Between, baseline: str = CONTROL) -> pd.DataFrame:
    """Operating points, means over seeds, with the group that each serves worst and the one that loses most since the
    baseline: `lowest`, `lowest_group`, `loss`, `loss_group`; and what each costs, where it was recorded: COSTS."""
    means = baselines_of.compared(group_means(between), baseline)
    points = operating_points(tally(between).levels, unfairness(between))
    of = between.source, between.experiment
    return with_costs(with_extremes(points, means, tally(between).names), extras.sizes(*of), extras.measures(*of))


@remembered(max_entries=64, show_spinner=False)
def by_seed(between: Between) -> pd.DataFrame:
    """The models behind the operating points, seed by seed."""
    return seed_points(tally(between).levels, unfairness(between))


@remembered(max_entries=16, show_spinner=False)
def by_seed_and_point(between: Between, measure: str) -> SeedGrid:
    """The same numbers laid out for resampling."""
    return grid_of(between, measure, by_seed(between), counted_baselines(between))


@remembered(max_entries=64, show_spinner=False)
def group_means(between: Between) -> pd.DataFrame:
    """Mean accuracy of each group at each operating point, by the point's number, with the controls' beside it."""
    source, experiment = between.source, between.experiment
    if between.of_classes and between.split == TEST:
        return classes_with_controls(source, experiment)
    counted = tally(between)
    numbers = catalog.operating(source, experiment)[["point", *MODEL, "level"]]
    curves = class_curves(counted.counts).merge(numbers, on=[*MODEL, "level"], how="left")
    pairs = baselines(source, experiment, CONTROL)
    kept = set(counted.control_counts["run"].astype(str))
    pairs = pairs[(pairs["kind"] != CONTROL) | pairs["baseline"].isin(kept)]
    return baselines_of.with_controls(curves, counted.control_counts, pairs)


@remembered(max_entries=256, show_spinner=False)
def group_rows(between: Between, point: int, baseline: str = CONTROL) -> pd.DataFrame:
    """Each group at an operating point, largest loss first: name, n, dense, accuracy, low, high, change.

    Where the baseline is the control and the point has one, its accuracy stands beside that of dense as `control`, and
    the change is since then. Of members, such as writers, change, accuracy and its ends are pulled to the mean of all.
    """
    means = group_means(between)
    rows = means[means["point"] == point]
    controlled = baseline == CONTROL and rows["control_accuracy"].notna().any()
    losses = class_losses(rows, rows.set_index("class")["control_accuracy"] if controlled else None)
    keys = _models_at(between, point)
    pulled = member_changes(between, keys, CONTROL if controlled else baselines_of.DENSE) if len(keys) else None
    if pulled is not None:
        losses = pulled_losses(losses, pulled, "control" if controlled else "dense")
    losses.insert(0, "name", _names(losses.pop("class"), tally(between).names))
    return losses


@st.cache_resource(max_entries=64, show_spinner=False)
def band(asked: tuple[Hashable, ...], _points: pd.DataFrame, _grid: SeedGrid, _choice: Choice) -> pd.DataFrame:
    """Where redrawn seeds put the frontier, which no weight changes; `asked` says what the others were made from."""
    return frontier_band(_points, _grid, _choice)


@remembered(max_entries=256, show_spinner=False)
def payers(between: Between, point: int, baseline: str = CONTROL) -> pd.DataFrame:
    """Of each grouping the group that loses most on the test split, the largest loss first: columns, name, n, before,
    accuracy, low, high, change, kind (of the baseline), held.

    Groupings are the classes, every column of few groups, and those of `between`. `held` says what the interval is:
    "pulled" (to the mean of all members), "together" (of the change, for all groups of all groupings at once), or
    "seeds" (of the accuracy, where what the networks said of examples cannot be read).
    """
    columns = example_columns(between.source, between.experiment)
    tables = {}
    for names in dict.fromkeys([(CLASS,), *((name,) for name in columns.groups), between.columns]):
        of = Between(between.source, between.experiment, names)
        try:
            tables[of] = group_rows(of, point, baseline)
        except PruneScopeError:  # the predictions of some runs are gone; the classes are counted all the same
            continue
    n_many = sum(len(table) for table in tables.values() if "pulled" not in table)
    kept = ["columns", "name", "n", "before", "accuracy", "low", "high", "change", "kind", "held"]
    parts = [_payer(of, table, point, n_many).reindex(columns=kept) for of, table in tables.items()]
    parts = [part for part in parts if len(part)]
    if not parts:
        return pd.DataFrame(columns=kept)
    return pd.concat(parts, ignore_index=True).sort_values("change", kind="stable", ignore_index=True)


def _payer(of: Between, table: pd.DataFrame, point: int, n_many: int) -> pd.DataFrame:
    """The group of a grouping that loses most, if any, in a row with its interval for so many groups at once."""
    kind = "control" if "control" in table else "dense"
    row = table[table["change"].notna()].head(1).rename(columns={kind: "before"})
    row = row.assign(columns=[of.columns] * len(row), kind=kind, held="pulled" if "pulled" in table else "seeds")
    keys = _models_at(of, point)
    if "pulled" in table or row.empty or not keys:
        return row
    runs, compared = tuple(run for run, _ in keys), CONTROL if kind == "control" else baselines_of.DENSE
    try:
        ends = group_intervals(of, runs, keys[0][1], compared, n_many)
    except PruneScopeError:
        return row
    name = str(row["name"].iloc[0])
    if ends is None or list(ends.index).count(name) != 1 or ends.loc[name].isna().any():
        return row
    return row.assign(**(float(row["before"].iloc[0]) + ends.loc[name]).clip(0, 1), held="together")


def _models_at(between: Between, point: int) -> tuple[tuple[str, int], ...]:
    """Run and level of each network behind an operating point."""
    models = by_seed(between)
    models = models[models["point"] == point]
    return tuple(zip(models["run"].astype(str), models["level"].astype(int), strict=True))


@remembered(max_entries=64, show_spinner=False)
def hover_texts(between: Between, measure: str) -> list[str]:
    """What hover says of each operating point, by its number."""
    worst = worst_classes(group_means(between))
    worst = worst.assign(name=_names(worst["class"], tally(between).names))
    points = operating_points(tally(between).levels, unfairness(between))
    return point_hovers(points, measure, worst, "class" if between.of_classes else "group")


def _names(numbers: pd.Series, names: Mapping[int, str]) -> list[str]:
    """Names of groups; one that has none is called by its number."""
    return [names.get(int(number), str(number)) for number in numbers]
