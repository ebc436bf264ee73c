"""Operating points and what is said of each, kept between reruns: for the Frontier."""

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from engine.analysis.curves.baseline import CONTROL
from engine.analysis.curves.worst_classes import worst_classes
from engine.analysis.frontier.point_losses import class_losses
from engine.analysis.frontier.points import seed_points
from engine.analysis.frontier.resampling import SeedGrid, seed_grid
from pages.shared.cache.catalog import Experiment, Source, class_means, class_names, levels, operating, unfairness
from pages.shared.cache.controls import classes_with_controls
from pages.shared.names import point_hovers


@st.cache_resource(max_entries=64, show_spinner=False)
def by_seed(source: Source, experiment: Experiment) -> pd.DataFrame:
    """The models behind the operating points, seed by seed."""
    return seed_points(levels(source, experiment), unfairness(source, experiment))


@st.cache_resource(max_entries=16, show_spinner=False)
def by_seed_and_point(source: Source, experiment: Experiment, measure: str) -> SeedGrid:
    """The same numbers laid out for resampling."""
    return seed_grid(by_seed(source, experiment), measure)


@st.cache_resource(max_entries=256, show_spinner=False)
def class_rows(source: Source, experiment: Experiment, point: int, baseline: str = CONTROL) -> pd.DataFrame:
    """Each class at an operating point, largest loss first: name, n, dense, accuracy, low, high, change.

    Where the baseline is the control and the point has one, its accuracy stands beside that of dense as `control`, and
    the change is since then.
    """
    means = classes_with_controls(source, experiment)
    rows = means[means["point"] == point]
    controlled = baseline == CONTROL and rows["control_accuracy"].notna().any()
    losses = class_losses(rows, rows.set_index("class")["control_accuracy"] if controlled else None)
    losses.insert(0, "name", _names(losses.pop("class"), class_names(source, experiment)))
    return losses


@st.cache_resource(max_entries=64, show_spinner=False)
def hover_texts(source: Source, experiment: Experiment, measure: str) -> list[str]:
    """What hover says of each operating point, by its number."""
    worst = worst_classes(class_means(source, experiment))
    worst = worst.assign(name=_names(worst["class"], class_names(source, experiment)))
    return point_hovers(operating(source, experiment), measure, worst)


def _names(numbers: pd.Series, names: Mapping[int, str]) -> list[str]:
    """Names of classes; a class that has none is called by its number."""
    return [names.get(int(number), str(number)) for number in numbers]
