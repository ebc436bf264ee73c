"""What pruned networks are compared with, kept between reruns: those that trained as long unpruned, or dense ones."""

import pandas as pd

from engine.analysis.columns import VARIANT
from engine.analysis.curves import baseline
from engine.analysis.curves.controls import Against, Controls, against_control, trains_longer
from engine.analysis.unfairness import unfairness_table
from engine.pruning.techniques import untrained_techniques
from pages.shared.cache.catalog import (
    Experiment,
    Source,
    class_means,
    classes,
    control_classes,
    control_levels,
    levels,
    total_means,
)
from pages.shared.cache.kept import remembered
from pages.shared.names import Variant


@remembered(max_entries=256, show_spinner=False)
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


@remembered(max_entries=64, show_spinner=False)
def baselines(source: Source, experiment: Experiment, chosen: str) -> pd.DataFrame:
    """The baseline of each model of an experiment, by the choice in the frame: the same training or dense."""
    controls = Controls(
        control_levels(source, experiment), control_classes(source, experiment), untrained=untrained_techniques()
    )
    return baseline.baselines(levels(source, experiment), controls if chosen == baseline.CONTROL else None)


@remembered(max_entries=64, show_spinner=False)
def levels_beside_baselines(source: Source, experiment: Experiment, chosen: str) -> pd.DataFrame:
    """`levels` with the accuracy of their baselines as `before`, and its kind, by the choice in the frame."""
    pairs = baselines(source, experiment, chosen)
    return baseline.beside_baselines(levels(source, experiment), control_levels(source, experiment), pairs)


@remembered(max_entries=64, show_spinner=False)
def classes_beside_baselines(source: Source, experiment: Experiment, chosen: str) -> pd.DataFrame:
    """The same by class."""
    pairs = baselines(source, experiment, chosen)
    return baseline.beside_baselines(classes(source, experiment), control_classes(source, experiment), pairs)


@remembered(max_entries=64, show_spinner=False)
def classes_with_controls(source: Source, experiment: Experiment) -> pd.DataFrame:
    """`class_means` with the mean accuracy of the controls beside them."""
    pairs = baselines(source, experiment, baseline.CONTROL)
    return baseline.with_controls(class_means(source, experiment), control_classes(source, experiment), pairs)


@remembered(max_entries=64, show_spinner=False)
def totals_with_controls(source: Source, experiment: Experiment) -> pd.DataFrame:
    """`total_means` with the mean accuracy of the controls beside them."""
    pairs = baselines(source, experiment, baseline.CONTROL)
    return baseline.with_controls(total_means(source, experiment), control_levels(source, experiment), pairs)


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
