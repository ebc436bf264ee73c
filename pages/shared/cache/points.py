"""Operating points and what is said of each, kept between reruns: for the Frontier."""

import pandas as pd
import streamlit as st

from engine.analysis.columns import VARIANT
from engine.analysis.frontier.points import seed_points
from engine.analysis.frontier.stability import SeedMeans, seed_means
from pages.shared.cache.catalog import Experiment, Source, class_means, class_names, levels, operating, unfairness
from pages.shared.cache.controls import classes_of_control
from pages.views.frontier.charts import hover

MANY_POINTS = 3_000
"""Operating points up to which means of resampled seeds are kept; so many take 36 MB."""


@st.cache_resource(max_entries=64, show_spinner=False)
def by_seed(source: Source, experiment: Experiment) -> pd.DataFrame:
    """The models behind the operating points, seed by seed."""
    return seed_points(levels(source, experiment), unfairness(source, experiment))


@st.cache_resource(max_entries=16, show_spinner=False)
def resampled(source: Source, experiment: Experiment, measure: str) -> SeedMeans | None:
    """Means of resampled seeds; None where there are too many points to keep them, so that they are drawn each time."""
    points = operating(source, experiment)
    return seed_means(by_seed(source, experiment), measure) if len(points) <= MANY_POINTS else None


@st.cache_resource(max_entries=64, show_spinner=False)
def worst_classes(source: Source, experiment: Experiment) -> pd.DataFrame:
    """The class with the lowest mean accuracy at each operating point: point, class, accuracy."""
    means = class_means(source, experiment)
    worst = means["accuracy"].groupby(means["point"]).idxmin().dropna()
    return means.loc[worst, ["point", "class", "accuracy"]].reset_index(drop=True)


@st.cache_resource(max_entries=256, show_spinner=False)
def class_rows(source: Source, experiment: Experiment, point: int) -> pd.DataFrame:
    """Each class at an operating point, largest loss first: name, n, dense, accuracy, low, high, change.

    Where the point has a control, its accuracy stands beside that of dense as `control`, and the change is since then.
    """
    means = class_means(source, experiment)
    rows = means[means["point"] == point].rename(columns={"dense_accuracy": "dense"})
    names, kept = class_names(source, experiment), ["name", "n", "dense", "accuracy", "low", "high", "change"]
    before = rows["dense"]
    if len(rows):
        technique, treatment, mitigation = (str(rows[name].iloc[0]) for name in VARIANT)
        variant, level = (technique, treatment, mitigation), int(rows["level"].iloc[0])
        controls = classes_of_control(source, experiment, variant, level)
        if controls is not None:
            before = rows["class"].map(controls)
            rows, kept = rows.assign(control=before), [*kept[:3], "control", *kept[3:]]
    rows = rows.assign(
        name=[names.get(int(number), str(number)) for number in rows["class"]], change=rows["accuracy"] - before
    )
    return rows[kept].sort_values("change", ignore_index=True)


@st.cache_resource(max_entries=64, show_spinner=False)
def hover_texts(source: Source, experiment: Experiment, measure: str) -> list[str]:
    """What hover says of each operating point, by its number."""
    names, worst = class_names(source, experiment), worst_classes(source, experiment)
    worst = worst.assign(name=[names.get(int(number), str(number)) for number in worst["class"]])
    return hover(operating(source, experiment), measure, worst)
