"""A pruned network that does better than the dense one has often just trained longer: that is said where it shows."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd

from engine.analysis.columns import VARIANT
from engine.analysis.curves.controls import Against
from engine.analysis.unfairness import UNFAIRNESS
from engine.pruning.schedules import n_epochs_after
from engine.run_spec import RunSpec
from pages.shared import formats
from pages.shared.cache import catalog
from pages.shared.cache.catalog import Experiment, Source
from pages.shared.cache.controls import beside_control
from pages.shared.names import Variant, measure_name

LITTLE = 0.005
"""A gain of accuracy below this needs no explanation."""

GAIN = 0.02
"""A gain of accuracy above which pruning alone is no explanation, however long the training."""


def training_sentence(
    source: Source, experiment: Experiment, variant: Variant, level: int, gain: float, measure: str = "max_min"
) -> str:
    """What of a network's change since dense is training: by its control where there is one, else a caution where it
    gains; may be empty."""
    spec = catalog.spec(source, experiment)
    epochs = epochs_in_all(spec, variant[0], variant[1], level)
    against = beside_control(source, experiment, variant, level, measure)
    return control_sentence(against, epochs, measure) if against else gain_sentence(gain, spec.epochs, epochs)


def training_of(source: Source, experiment: Experiment, rows: pd.DataFrame, level: int) -> str:
    """The same of one model, whose rows of `catalog.levels` these are."""
    means = rows.groupby("level")["accuracy"].mean()
    technique, treatment, mitigation = (str(rows[name].iloc[0]) for name in VARIANT)
    gain = float(means.get(level, np.nan) - means.get(0, np.nan))
    return training_sentence(source, experiment, (technique, treatment, mitigation), level, gain)


def epochs_in_all(spec: RunSpec, technique: str, treatment: str, level: int) -> int:
    """Epochs behind the weights of a network at this level; rewinding forgets those before."""
    after = n_epochs_after(replace(spec, technique=technique))
    if not level or not after:
        return spec.epochs
    if treatment != "finetune":
        return after
    return spec.epochs + after * (level if spec.schedule == "iterative" else 1)


def control_sentence(against: Mapping[str, Against], epochs: int, measure: str) -> str:
    """What a network is like that trained as long without pruning, and what pruning changes against it."""
    accuracy, unfair = against["accuracy"], against.get(measure)
    unpruned = [f"accuracy {formats.percent(accuracy.control)}"]
    changes = [f"accuracy by {_change(accuracy, 'accuracy')}"]
    if unfair is not None:
        symbol = UNFAIRNESS[measure].symbol
        kind = "" if symbol else f" ({measure_name(measure).lower()})"
        unpruned.append(f"{symbol or 'unfairness'} {formats.unfairness(unfair.control, measure)}{kind}")
        changes.append(f"{symbol or 'unfairness'} by {_change(unfair, measure)}")
    return (
        f"Trained as long without pruning ({epochs} epochs, {formats.seeds(accuracy.n_seeds)}): {', '.join(unpruned)}. "
        f"Against that, pruning changes {' and '.join(changes)}."
    )


def gain_sentence(gain: float, dense_epochs: int, epochs: int) -> str:
    """What a network gains in accuracy on the dense one, and why that is not pruning alone; empty if it is little."""
    if gain > LITTLE and epochs > dense_epochs > 0:
        return (
            f"It gains {formats.points_in_words(gain)} on the dense network, but trained for {epochs} epochs in all, "
            f"that one for {dense_epochs}: part of what it gains is training, not pruning."
        )
    if gain > GAIN:
        return (
            f"It gains {formats.points_in_words(gain)}: the dense network was not trained to its best, so part of what "
            "changes is training, not pruning."
        )
    return ""


def _change(against: Against, measure: str) -> str:
    """A change with half of its interval, in the measure's unit."""
    if not formats.in_points(measure):
        sign, half = "+" if against.change > 0 else "", (against.high - against.low) / 2
        doubt = "" if half != half else f" ± {formats.number(half, 2)}"
        return f"{sign}{formats.number(against.change, 2)}{doubt}"
    doubt = formats.plus_minus(against.low, against.high)
    return f"{formats.points(against.change)} {doubt}".strip()
