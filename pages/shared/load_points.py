"""Operating points and what is said of each, kept between reruns: for the Frontier."""

import pandas as pd
import streamlit as st

from engine.analysis.agreement import SeedMeans, seed_means
from engine.analysis.frontier import seed_points
from pages.shared.charts.frontier import hover
from pages.shared.load import Experiment, Source, class_means, class_names, levels, operating, unfairness

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
    """Each class at an operating point, largest loss first: name, n, dense, accuracy, low, high, change."""
    means = class_means(source, experiment)
    rows = means[means["point"] == point].rename(columns={"dense_accuracy": "dense"})
    names = class_names(source, experiment)
    rows = rows.assign(
        name=[names.get(int(number), str(number)) for number in rows["class"]], change=rows["accuracy"] - rows["dense"]
    )
    kept = ["name", "n", "dense", "accuracy", "low", "high", "change"]
    return rows[kept].sort_values("change", ignore_index=True)


@st.cache_resource(max_entries=64, show_spinner=False)
def hover_texts(source: Source, experiment: Experiment, measure: str) -> list[str]:
    """What hover says of each operating point, by its number."""
    names, worst = class_names(source, experiment), worst_classes(source, experiment)
    worst = worst.assign(name=[names.get(int(number), str(number)) for number in worst["class"]])
    return hover(operating(source, experiment), measure, worst)
