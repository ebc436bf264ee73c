"""Networks that trained as long as a pruned one without being pruned, kept between reruns."""

import pandas as pd
import streamlit as st

from engine.analysis.columns import VARIANT
from engine.analysis.curves.class_curves import with_accuracy
from engine.analysis.curves.controls import Against, against_control, trains_longer
from engine.analysis.unfairness import unfairness_table
from engine.pruning.techniques import untrained_techniques
from pages.shared.cache.catalog import Experiment, Source, classes, control_classes, control_levels, levels
from pages.shared.names import Variant


@st.cache_resource(max_entries=256, show_spinner=False)
def beside_control(
    source: Source, experiment: Experiment, variant: Variant, level: int, measure: str
) -> dict[str, Against] | None:
    """Accuracy and unfairness of a model at a level, each against that of the control; None where it has no control."""
    if not level or not trains_longer(variant, untrained_techniques()):
        return None
    controls = _at(control_levels(source, experiment), control_classes(source, experiment), level, measure)
    if controls.empty:
        return None
    models, counts = (_of(table(source, experiment), variant) for table in (levels, classes))
    models = _at(models, counts, level, measure)
    tried = {name: against_control(models, controls, name) for name in ("accuracy", measure)}
    against = {name: change for name, change in tried.items() if change is not None}
    return against if "accuracy" in against else None


@st.cache_resource(max_entries=256, show_spinner=False)
def classes_of_control(source: Source, experiment: Experiment, variant: Variant, level: int) -> pd.Series | None:
    """Mean accuracy of each class (index) of the controls at a level; None where a seed of the model has none."""
    if not level or not trains_longer(variant, untrained_techniques()):
        return None
    models, rows = _of(levels(source, experiment), variant), control_classes(source, experiment)
    seeds = set(models.loc[models["level"] == level, "seed"])
    rows = rows[(rows["level"] == level) & rows["seed"].isin(seeds)]
    if set(rows["seed"]) != seeds:
        return None
    return with_accuracy(rows).groupby("class")["accuracy"].mean()


def _of(table: pd.DataFrame, variant: Variant) -> pd.DataFrame:
    same = pd.Series(True, table.index)
    for name, value in zip(VARIANT, variant, strict=True):
        same &= table[name] == value
    return table[same]


def _at(rows: pd.DataFrame, counts: pd.DataFrame, level: int, measure: str) -> pd.DataFrame:
    """The models of one level: run, seed, level, accuracy and the measure, which may look back at the dense one."""
    models = rows.loc[rows["level"] == level, ["run", "seed", "level", "accuracy"]]
    seen = counts[counts["level"].isin((0, level))].reset_index(drop=True)
    if models.empty or seen.empty:
        return models.assign(**{measure: float("nan")})
    return models.merge(unfairness_table(seen, [measure])[["run", "level", measure]], on=["run", "level"], how="left")
