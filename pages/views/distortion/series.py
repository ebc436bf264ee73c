"""What stands side by side: the techniques of an experiment, or one technique on several networks or data sets."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from engine.analysis.columns import VARIANT
from engine.analysis.curves.controls import trains_longer
from engine.pruning.techniques import TECHNIQUES, untrained_techniques
from pages.shared.cache import catalog, models
from pages.shared.cache.catalog import Experiment, Source
from pages.shared.charts.class_look import group_colour
from pages.shared.charts.style import marker, technique_colour
from pages.shared.frame import Frame
from pages.shared.names import Variant, dataset_name, network_name, subject_name, variant_labels

By = Literal["technique", "network", "dataset"]


@dataclass(frozen=True)
class Series:
    """One thing that is compared: runs that differ in their seed only, and how they are called and drawn."""

    label: str
    experiment: Experiment
    variant: Variant
    way: str
    """The variant's name among those of the frame."""
    colour: str
    symbol: str

    @property
    def subject(self) -> str:
        """What was pruned, as in "LeNet on QMNIST"."""
        return subject_name(self.experiment.network, self.experiment.dataset)


def frame_variants(frame: Frame) -> dict[str, Variant]:
    """The variants that are switched on by their names, in the order of our table of techniques.

    Those that cut no weight, as where networks are only quantized, are left out: they have no ratio.
    """
    rows = frame.keep(catalog.levels(frame.source, frame.experiment))
    cut = rows[(rows["sparsity"] > 0).to_numpy()]
    rows = cut if len(cut) else rows
    distinct = rows[list(VARIANT)].drop_duplicates().astype(str)
    variants = [(str(a), str(b), str(c)) for a, b, c in distinct.itertuples(index=False)]
    order = {key: place for place, key in enumerate(TECHNIQUES)}
    return variant_labels(
        sorted(variants, key=lambda v: (order.get(v[0], len(order)), v[0], v[1] != "rewind", v[1], v[2]))
    )


def technique_series(frame: Frame) -> list[Series]:
    """What is switched on in the frame's experiment."""
    return [
        Series(label, frame.experiment, variant, label, technique_colour(variant[0]), marker(variant[1]))
        for label, variant in frame_variants(frame).items()
    ]


def experiment_series(frame: Frame, by: By, way: str) -> list[Series]:
    """The variant of this name on every network (same data) or data set of the study that has runs of it."""
    variant = frame_variants(frame)[way]
    others = [e for e in models.counterparts(frame.source, frame.experiment, by) if _has(frame.source, e, variant)]
    same_network = len({e.network for e in others}) == 1
    ordered = sorted(others, key=lambda e: _label(e, by, same_network))
    return [
        Series(_label(other, by, same_network), other, variant, way, group_colour(place), marker(variant[1]))
        for place, other in enumerate(ordered)
    ]


def table_of(series: Sequence[Series], read: Callable[[Experiment], pd.DataFrame]) -> pd.DataFrame:
    """The rows of each series, of what `read` gives of its experiment, with its label as `series`."""
    parts = []
    for experiment in dict.fromkeys(one.experiment for one in series):
        rows = read(experiment)
        labels = {one.variant: one.label for one in series if one.experiment == experiment}
        variants = rows.groupby(list(VARIANT), observed=True, sort=False).indices
        parts += [
            rows.take(variants[variant]).assign(series=label)
            for variant, label in labels.items()
            if variant in variants
        ]
    return pd.concat(parts, ignore_index=True)


def controls_of(series: Iterable[Series], source: Source, base: str) -> dict[str, pd.DataFrame]:
    """Alphas of networks that trained as long, by the series that trained longer than dense and have some."""
    longer = [one for one in series if trains_longer(one.variant, untrained_techniques())]
    controls = {one.label: models.control_alphas(source, one.experiment, base) for one in longer}
    return {label: rows for label, rows in controls.items() if len(rows)}


def other_protocols(series: Sequence[Series], experiment: Experiment) -> list[str]:
    """A sentence for each series that was trained or pruned otherwise than the frame's experiment."""
    return [
        f"{one.label} was trained otherwise: {one.experiment.protocol}."
        for one in series
        if one.experiment.protocol != experiment.protocol
    ]


def _has(source: Source, experiment: Experiment, variant: Variant) -> bool:
    rows = catalog.levels(source, experiment)
    return bool((rows[list(VARIANT)].astype(str) == list(variant)).all(axis=1).any())


def _label(experiment: Experiment, by: By, same_network: bool) -> str:
    if by == "network":
        return network_name(experiment.network)
    name = dataset_name(experiment.dataset, experiment.split)
    return name if same_network else f"{name}, {network_name(experiment.network)}"
