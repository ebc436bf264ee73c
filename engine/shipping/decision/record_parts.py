"""Parts of a decision record from the tables that a choice was made of; pure: tables in, facts out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from engine.analysis.frontier.choice import Choice
from engine.analysis.frontier.floors import FLOORS, broken
from engine.analysis.frontier.rejected import rivals
from engine.analysis.frontier.tradeoffs.compromise import Compromise
from engine.analysis.intervals import t_interval
from engine.analysis.unfairness import UNFAIRNESS
from engine.shipping.decision.decision_facts import (
    ChartFacts,
    GroupFacts,
    Number,
    PointFacts,
    ShippedSeed,
    Stakeholder,
    StakeholderFacts,
)

MOST_DRAWN = 240
"""Points of each kind that a record draws."""
CHOSEN_ON = {
    "test": "The test split has been looked at to make this choice; confirm it on data that was not used here.",
    "validation": "The choice was made on validation splits; who tries many settings against the test numbers chooses "
    "on them all the same.",
}
LIMITS = (
    "Accuracies come from one test split; another population may fare otherwise.",
    "Unfairness is measured between the listed classes and groups only; people it does not list may lose more.",
    "A point on the frontier is a trade-off, not a statement that the network is fair.",
    "Intervals show the spread over seeds, not over data sets or training protocols.",
    "Attacks, drift of the data over time and the system around the network were not looked at.",
)
NEAREST_SEED = "the seed nearest the mean of all seeds in accuracy and unfairness"
ONLY_SEED = "the only seed that there is"

Name = Callable[[Mapping[Any, Any]], str]
"""How an operating point's row is called."""


def known(value: Any) -> float | None:
    """The number, None where it is not one."""
    return None if value is None or value is pd.NA or not np.isfinite(float(value)) else float(value)


def in_points(measure: str) -> bool:
    """Whether an unfairness is a difference of accuracies."""
    return measure not in UNFAIRNESS or UNFAIRNESS[measure].unit == "points"


def point_numbers(points: pd.DataFrame, place: int, measure: str, label: str) -> list[Number]:
    """Sparsity, accuracy, unfairness, the worst group and the largest loss of a point, with what dense has."""
    row, dense = points.iloc[place], points[points["point"] == points["dense"].iloc[place]]
    wanted = [("sparsity", "Sparsity", "share"), ("accuracy", "Accuracy", "share")]
    wanted.append((measure, label, "points" if in_points(measure) else "number"))
    wanted += [
        (floor.column, name, "share" if floor.is_least else "points")
        for floor, name in ((FLOORS["lowest"], "Worst group"), (FLOORS["loss"], "Largest loss of a group"))
        if floor.column in points and floor.column != measure
    ]
    return [
        Number(
            key=key,
            label=text
            if key not in ("lowest", "loss") or not str(row[f"{key}_group"])
            else f"{text}, {row[f'{key}_group']}",
            unit=unit,  # type: ignore[arg-type]
            value=known(row[key]),
            **_interval(row, key),
            baseline=known(dense[key].iloc[0]) if len(dense) and key != "loss" else None,
        )
        for key, text, unit in wanted
    ]


def group_facts(grouping: str, rows: pd.DataFrame) -> list[GroupFacts]:
    """The rows of a table of groups, which has name or group, n, dense or control, accuracy, low, high, change."""
    before = "before" if "before" in rows else "control" if "control" in rows else "dense"
    names = rows["name"] if "name" in rows else rows["group"]
    groupings = rows["grouping"].astype(str).tolist() if "grouping" in rows else [grouping] * len(rows)
    columns = (
        groupings,
        names.astype(str),
        rows["n"],
        *(rows[c] for c in (before, "accuracy", "low", "high", "change")),
    )
    return [
        GroupFacts(
            grouping=of,
            group=name,
            n=int(n),
            before=known(was),
            after=known(now),
            low=known(low),
            high=known(high),
            change=known(change),
        )
        for of, name, n, was, now, low, high, change in zip(*columns, strict=True)
    ]


def point_facts(
    points: pd.DataFrame, place: int, choice: Choice, name: Name, role: str = "", reason: str = ""
) -> PointFacts:
    """One operating point as a record names it."""
    row = points.iloc[place]
    return PointFacts(
        name=name(row),
        technique=str(row["technique"]),
        treatment=str(row["treatment"]),
        mitigation=str(row["mitigation"]),
        level=int(row["level"]),
        n_seeds=int(row["n_seeds"]),
        sparsity=known(row["sparsity"]),
        accuracy=known(row["accuracy"]),
        unfairness=known(row[choice.measure]),
        value=known(choice.values[place]),
        reason=reason,
        role=role,
    )


def stakeholder_facts(
    points: pd.DataFrame, one: Choice, other: Choice, middle: Compromise | None, name: Name
) -> StakeholderFacts | None:
    """What two weights choose among the same points, and their compromise; None where one of them chooses nothing.

    A compromise that one of the two would choose anyway is none.
    """
    if one.chosen is None or other.chosen is None or middle is None:
        return None
    between = not middle.agrees and middle.place not in (one.chosen, other.chosen)
    first, second = (
        Stakeholder(
            weight=choice.weight,
            choice=point_facts(points, int(choice.chosen or 0), choice, name),
            cost=cost if between else None,
        )
        for choice, cost in zip((one, other), middle.costs, strict=True)
    )
    found = point_facts(points, middle.place, one, name) if between else None
    return StakeholderFacts(both=(first, second), agree=middle.agrees, compromise=found)


def rival_rows(
    points: pd.DataFrame, choice: Choice, limits: Mapping[str, float], place: int, name: Name
) -> pd.DataFrame:
    """Every point but the one at `place`, best value first, with the reason why it was not chosen in words."""
    lost = rivals(points, choice, broken(points, limits))
    reasons = [
        f"{reason} by {name(points.iloc[by])}" if by is not pd.NA else str(reason)
        for reason, by in zip(lost["reason"], lost["dominated_by"], strict=True)
    ]
    lost = lost.assign(reason=reasons, name=[name(points.iloc[at]) for at in lost["position"]])
    return lost[(lost["position"] != place).to_numpy()].drop(columns="dominated_by").reset_index(drop=True)


def nearest_places(points: pd.DataFrame, choice: Choice, lost: pd.DataFrame, place: int, most: int) -> list[int]:
    """Places of the rivals nearest to a point: those in the running first, then by the difference in value."""
    at = lost["position"].to_numpy(int)
    apart = np.abs(choice.values[at] - choice.values[place])
    order = np.lexsort((np.where(np.isnan(apart), np.inf, apart), ~choice.survivors[at]))
    return [int(one) for one in at[order[:most]]]


def chart_facts(points: pd.DataFrame, choice: Choice, place: int) -> ChartFacts:
    """The chart of all points, thinned out where they are many; the frontier is drawn whole up to the limit."""
    sparsity, unfairness = points["sparsity"].to_numpy(float), points[choice.measure].to_numpy(float)
    drawable = np.isfinite(sparsity) & np.isfinite(unfairness)
    special = {place: "chosen"}
    if choice.runner_up is not None and choice.runner_up != place:
        special[choice.runner_up] = "runner-up"
    if choice.chosen is not None and choice.chosen != place:
        special[choice.chosen] = "runner-up"
    kinds: list[tuple[int, str]] = []
    for kind, mask in (("rejected", ~choice.survivors), ("kept", choice.survivors)):
        here = [at for at in np.flatnonzero(mask & drawable).tolist() if at not in special]
        kinds += [(at, kind) for at in _thinned(here, MOST_DRAWN)]
    kinds += [(at, kind) for at, kind in special.items() if drawable[at]]
    front = np.flatnonzero(choice.frontier & drawable)
    front = front[np.argsort(sparsity[front], kind="stable")]
    return ChartFacts(
        points=[(float(sparsity[at]), float(unfairness[at]), kind) for at, kind in kinds],
        frontier=[(float(sparsity[at]), float(unfairness[at])) for at in _thinned(front.tolist(), MOST_DRAWN)],
        unfairness_in_points=in_points(choice.measure),
        n_points=len(points),
    )


def shipped_seed(seeds: pd.DataFrame, measure: str, wanted: int | None = None) -> ShippedSeed:
    """Which of a point's seeds ships: the one that was asked for, else the most usual one, never the luckiest.

    `seeds` has the rows of one point in `seed_points`: run, seed, level, accuracy and the measure.
    """
    numbers = seeds[["accuracy", measure]].to_numpy(float)
    spread = np.nanstd(numbers, axis=0)
    apart = np.abs(numbers - np.nanmean(numbers, axis=0)) / np.where(spread > 0, spread, 1.0)
    place = int(np.argmin(np.nansum(apart, axis=1)))
    why = NEAREST_SEED if len(seeds) > 1 else ONLY_SEED
    asked = [at for at, seed in enumerate(seeds["seed"].tolist()) if seed == wanted]
    if asked and asked[0] != place:
        place, why = asked[0], "chosen by who decided"
    row = seeds.iloc[place]
    return ShippedSeed(
        run=str(row["run"]),
        seed=int(row["seed"]),
        level=int(row["level"]),
        why=why,
        accuracy=known(row["accuracy"]),
        unfairness=known(row[measure]),
    )


def floor_texts(limits: Mapping[str, float]) -> list[str]:
    """The floors that were set, in words."""
    texts = []
    for name, limit in limits.items():
        floor = FLOORS[name]
        digits = 2 if floor.is_cost else 1
        texts.append(f"{floor.label} {floor.factor * limit:,.{digits}f} {floor.unit}")
    return texts


def _interval(row: "pd.Series[Any]", key: str) -> dict[str, float | None]:
    if f"{key}_sd" not in row:
        return {}
    low, high = t_interval(row[key], row[f"{key}_sd"], row[f"{key}_n"])
    return {"low": known(low), "high": known(high)}


def _thinned(places: Sequence[int], most: int) -> list[int]:
    if len(places) <= most:
        return list(places)
    return [places[at] for at in np.linspace(0, len(places) - 1, most).round().astype(int)]
