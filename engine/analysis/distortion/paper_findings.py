"""Does this study find what Good et al. 2022 found: five of their findings, each with its intervals, found or not."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from engine.analysis.distortion.verdicts import CONFIDENCE, ROUNDING
from engine.analysis.intervals import t_interval

MAGNITUDE, UNDECAYED = "global_unstructured", "undecayed"
"""The techniques that the paper calls MP and UP."""

SAID = ("as there", "opposite", "undecided")


@dataclass(frozen=True)
class Evidence:
    """One mean with its interval, and what it says: as there, opposite, or undecided."""

    where: str
    ratio: float
    mean: float
    low: float
    high: float
    says: str


@dataclass(frozen=True)
class Finding:
    """One finding of the paper and all evidence on it; a mean is alpha, or a difference of alphas."""

    key: str
    text: str
    evidence: tuple[Evidence, ...]

    def count(self, said: str) -> int:
        """How often the evidence says that."""
        return sum(one.says == said for one in self.evidence)


@dataclass(frozen=True)
class _Cells:
    """Alpha by seed of every series at its ratios, seeds in the same order."""

    alpha: dict[tuple[str, float], NDArray[np.float64]]
    ratios: dict[str, list[float]]
    confidence: float

    def level(self, series: str, ratio: float, expected: int) -> Evidence:
        """Alpha against 1; `expected` is the paper's side, 1 above or -1 below."""
        return self._said(series, ratio, self.alpha[series, ratio] - 1, expected, 1.0)

    def difference(self, first: tuple[str, float], second: tuple[str, float], expected: int) -> Evidence:
        """Alpha of the first minus that of the second, seed by seed, against 0."""
        return self._said(*first, self.alpha[first] - self.alpha[second], expected, 0.0)

    def _said(self, series: str, ratio: float, values: NDArray[np.float64], expected: int, centre: float) -> Evidence:
        known = values[~np.isnan(values)]
        mean = known.mean() if len(known) else np.nan
        spread = known.std(ddof=1) if len(known) > 1 else np.nan
        low, high = map(float, t_interval(mean, spread, len(known), self.confidence))
        side = (low > 0) - (high < 0)
        says = SAID[2] if not side else SAID[0] if side == expected else SAID[1]
        return Evidence(series, ratio, float(mean) + centre, low + centre, high + centre, says)


def findings(models: pd.DataFrame, confidence: float = CONFIDENCE) -> list[Finding]:
    """The findings on which these models (of `verdicts.at_ratios`, with `technique`) have evidence.

    An interval that excludes 1 (of alpha) or 0 (of a difference by seed) decides; its side says how. Models that lost
    no weight, quantized ones among them, are no evidence on pruning.
    """
    models = models[models["ratio"] > 1 + ROUNDING]
    technique = dict(zip(models["series"], models["technique"].astype(str), strict=True))
    by_seed = models.pivot(index=["series", "ratio"], columns="seed", values="alpha")
    alpha = dict(zip(by_seed.index, by_seed.to_numpy(float), strict=True))
    ratios = {name: sorted(float(ratio) for series, ratio in alpha if series == name) for name in technique}
    cells = _Cells(alpha, ratios, confidence)
    chance = [name for name in technique if "random" in technique[name]]
    careful = [name for name in technique if name not in chance]
    found = (
        Finding("low", "Little pruning evens out: alpha is below 1", _ends(cells, careful, 0, -1)),
        Finding("high", "Much pruning intensifies: alpha is above 1", _ends(cells, careful, -1, 1)),
        Finding("growth", "Alpha grows from one ratio to the next", _growth(cells, careful)),
        Finding("random", "Random pruning evens out at every ratio", _everywhere(cells, chance)),
        Finding("undecayed", "Undecayed pruning has a lower alpha than magnitude", _undecayed(cells, technique)),
    )
    return [one for one in found if one.evidence]


def _ends(cells: _Cells, names: Sequence[str], place: int, expected: int) -> tuple[Evidence, ...]:
    return tuple(cells.level(name, cells.ratios[name][place], expected) for name in names)


def _everywhere(cells: _Cells, names: Sequence[str]) -> tuple[Evidence, ...]:
    return tuple(cells.level(name, ratio, -1) for name in names for ratio in cells.ratios[name])


def _growth(cells: _Cells, names: Sequence[str]) -> tuple[Evidence, ...]:
    steps = ((name, low, high) for name in names for low, high in pairwise(cells.ratios[name]))
    return tuple(cells.difference((name, high), (name, low), 1) for name, low, high in steps)


def _undecayed(cells: _Cells, technique: dict[str, str]) -> tuple[Evidence, ...]:
    pairs = [(a, b) for a in technique for b in technique if (technique[a], technique[b]) == (UNDECAYED, MAGNITUDE)]
    return tuple(
        cells.difference((a, ratio), (b, ratio), -1)
        for a, b in pairs
        for ratio in cells.ratios[a]
        if ratio in cells.ratios[b]
    )
