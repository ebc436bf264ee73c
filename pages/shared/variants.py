"""What stands side by side: the techniques of an experiment, or one technique on several networks or data sets."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from engine.analysis.columns import VARIANT
from engine.pruning.techniques import TECHNIQUES
from pages.shared import formats
from pages.shared.cache import catalog as load
from pages.shared.cache import models as load_models
from pages.shared.cache.catalog import Experiment, Source
from pages.shared.charts.style import GROUPS, marker, technique_colour
from pages.shared.frame import Frame

By = Literal["technique", "network", "dataset"]
ORDER = (6, 2, 8, 4, 1, 5, 7, 3, 0)
"""The palette of groups, those first that show on light and dark alike."""


@dataclass(frozen=True)
class Series:
    """One thing that is compared: runs that differ in their seed only, and how they are called and drawn."""

    label: str
    experiment: Experiment
    variant: tuple[str, str, str]
    """Technique, treatment and mitigation."""
    way: str
    """The variant's name among those of the frame."""
    colour: str
    symbol: str

    @property
    def subject(self) -> str:
        """What was pruned, as in "LeNet on QMNIST"."""
        return f"{formats.network(self.experiment.network)} on {formats.dataset(self.experiment.dataset)}"


def variants(frame: Frame) -> list[tuple[str, str, str]]:
    """Technique, treatment and mitigation of what is switched on, in the order of our table of techniques."""
    rows = frame.keep(load.levels(frame.source, frame.experiment))
    distinct = rows[list(VARIANT)].drop_duplicates().astype(str)
    found = [(str(a), str(b), str(c)) for a, b, c in distinct.itertuples(index=False)]
    order = {key: place for place, key in enumerate(TECHNIQUES)}
    return sorted(found, key=lambda v: (order.get(v[0], len(order)), v[0], v[1] != "rewind", v[1], v[2]))


def variant_labels(found: Sequence[tuple[str, str, str]]) -> dict[str, tuple[str, str, str]]:
    """The variants by names that say no more than what tells them apart."""
    many = [len({v[place] for v in found}) > 1 for place in range(3)]

    def name(technique: str, treatment: str, mitigation: str) -> str:
        words = [formats.technique(technique)]
        words += [formats.treatment(treatment).lower()] if many[1] else []
        words += [f"mitigation {mitigation or 'none'}"] if many[2] else []
        return ", ".join(words)

    return {name(*variant): variant for variant in found}


def technique_series(frame: Frame) -> list[Series]:
    """What is switched on in the frame's experiment."""
    return [
        Series(label, frame.experiment, variant, label, technique_colour(variant[0]), marker(variant[1]))
        for label, variant in variant_labels(variants(frame)).items()
    ]


def experiment_series(frame: Frame, by: By, way: str) -> list[Series]:
    """The variant of this name on every network (same data) or data set of the study that has runs of it."""
    variant = variant_labels(variants(frame))[way]
    found = [e for e in load_models.counterparts(frame.source, frame.experiment, by) if _has(frame.source, e, variant)]
    same_network = len({e.network for e in found}) == 1
    series = []
    for place, other in enumerate(sorted(found, key=lambda e: _label(e, by, same_network))):
        colour = GROUPS[ORDER[place % len(ORDER)]]
        series.append(Series(_label(other, by, same_network), other, variant, way, colour, marker(variant[1])))
    return series


def table_of(series: Sequence[Series], read: Callable[[Experiment], pd.DataFrame]) -> pd.DataFrame:
    """The rows of each series, of what `read` gives of its experiment, with its label as `series`."""
    parts = []
    for one in series:
        rows = read(one.experiment)
        for name, value in zip(VARIANT, one.variant, strict=True):
            rows = rows[(rows[name] == value).to_numpy()]
        parts.append(rows.assign(series=one.label))
    return pd.concat(parts, ignore_index=True)


def other_protocols(series: Sequence[Series], experiment: Experiment) -> list[str]:
    """A sentence for each series that was trained or pruned otherwise than the frame's experiment."""
    return [
        f"{one.label} was trained otherwise: {one.experiment.protocol}."
        for one in series
        if one.experiment.protocol != experiment.protocol
    ]


def _has(source: Source, experiment: Experiment, variant: tuple[str, str, str]) -> bool:
    rows = load.levels(source, experiment)
    return bool((rows[list(VARIANT)].astype(str) == list(variant)).all(axis=1).any())


def _label(experiment: Experiment, by: By, same_network: bool) -> str:
    if by == "network":
        return formats.network(experiment.network)
    name = formats.dataset(experiment.dataset)
    name += "" if experiment.split in ("", "official") else f" ({experiment.split})"
    return name if same_network else f"{name}, {formats.network(experiment.network)}"
