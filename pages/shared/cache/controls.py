"""Networks that trained as long as a pruned one without being pruned, kept between reruns."""

import pandas as pd
import streamlit as st

from engine.analysis.columns import VARIANT
from engine.analysis.curves.class_curves import with_accuracy
from engine.analysis.curves.controls import Against, against_control, trains_longer
from engine.analysis.unfairness import unfairness_table
from engine.pruning.techniques import untrained_techniques
from pages.shared.cache import catalog as load
from pages.shared.cache.catalog import Experiment, Source

Variant = tuple[str, str, str]
"""Technique, treatment and mitigation."""


@st.cache_resource(max_entries=256, show_spinner=False)
def beside_control(
    source: Source, experiment: Experiment, variant: Variant, level: int, measure: str
) -> dict[str, Against] | None:
    """Accuracy and unfairness of a model at a level, each against that of the control; None where it has no control."""
    if not level or not trains_longer(variant, untrained_techniques()):
        return None
    controls = _at(load.control_levels(source, experiment), load.control_classes(source, experiment), level, measure)
    if controls.empty:
        return None
    levels, classes = (_of(table(source, experiment), variant) for table in (load.levels, load.classes))
    models = _at(levels, classes, level, measure)
    found = {name: against_control(models, controls, name) for name in ("accuracy", measure)}
    known = {name: against for name, against in found.items() if against is not None}
    return known if "accuracy" in known else None


@st.cache_resource(max_entries=256, show_spinner=False)
def classes_of_control(source: Source, experiment: Experiment, variant: Variant, level: int) -> pd.Series | None:
    """Mean accuracy of each class (index) of the controls at a level; None where a seed of the model has none."""
    if not level or not trains_longer(variant, untrained_techniques()):
        return None
    models, rows = _of(load.levels(source, experiment), variant), load.control_classes(source, experiment)
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


def _at(levels: pd.DataFrame, classes: pd.DataFrame, level: int, measure: str) -> pd.DataFrame:
    """The models of one level: run, seed, level, accuracy and the measure, which may look back at the dense one."""
    models = levels.loc[levels["level"] == level, ["run", "seed", "level", "accuracy"]]
    seen = classes[classes["level"].isin((0, level))].reset_index(drop=True)
    if models.empty or seen.empty:
        return models.assign(**{measure: float("nan")})
    return models.merge(unfairness_table(seen, [measure])[["run", "level", measure]], on=["run", "level"], how="left")
