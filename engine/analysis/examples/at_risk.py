"""Who is at risk before anything is pruned: do dense networks alone tell which examples will be lost?

After Iofinova, Peste and Alistarh 2023 (Bias in Pruned Vision Models): examples on which dense networks are unsure are
the ones that compression hits. Scores look at no label and no compressed network; then they are held against what
happened.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from engine.analysis.examples.exemplars import CELLS, votes
from engine.analysis.intervals import t_interval

Ints = NDArray[np.integer]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

SHARES = (0.01, 0.05, 0.10)
"""Shares of the examples that are looked at, those most at risk first."""
COLUMNS = ("score", "top", "n", "n_models", "precision", "low", "high", "chance", "above", "above_low", "above_high")


@dataclass(frozen=True)
class ScoreRow:
    """One way to tell from dense networks who is at risk: higher is riskier."""

    key: str
    label: str
    help: str


SCORES: dict[str, ScoreRow] = {
    row.key: row
    for row in (
        ScoreRow(
            "disagreement",
            "Disagreement of the dense networks",
            "The chance that two dense networks of different seeds give an example different labels.",
        ),
        ScoreRow(
            "margin",
            "Small margin",
            "How little the likeliest class is ahead of the second, in the mean over the dense networks.",
        ),
    )
}


def disagreement(dense: Ints, n_classes: int) -> Floats:
    """Chance that two different networks of (n_models, n_examples) say different things, 0 to 1; NaN with one alone."""
    n_models, n = dense.shape
    if n_models < 2:
        return np.full(n, np.nan)
    alike, step = np.empty(n), max(1, CELLS // n_classes)
    for start in range(0, n, step):
        counts = votes(dense[:, start : start + step], n_classes).astype(np.int64)
        alike[start : start + step] = (counts * (counts - 1)).sum(axis=1)
    return np.asarray(1 - alike / (n_models * (n_models - 1)))


def small_margin(margins: Floats) -> Floats:
    """1 - the mean margin over networks, from (n_models, n_examples): 0 where all are sure, 1 where none is."""
    return np.asarray(1 - margins.mean(axis=0, dtype=np.float64))


def lost(labels: Ints, before: Ints, after: Ints) -> Mask:
    """Which examples each network gets wrong that its baseline gets right: (n_models, n_examples)."""
    return np.asarray((before == labels) & (after != labels))


def top_precision(score: Floats, hit: Mask, share: float) -> Floats:
    """Of the examples with the highest scores, as many as the share asks for, the share that each network lost.

    Where scores tie at the edge, the expectation over all ways to fill it, so that no draw decides.
    """
    n = top_size(len(score), share)
    edge = np.partition(score, len(score) - n)[len(score) - n]
    above, at = score > edge, score == edge
    wanted = n - int(above.sum())
    sums = hit[:, above].sum(axis=1) + wanted * hit[:, at].mean(axis=1)
    return np.asarray(sums / n)


def top_size(n: int, share: float) -> int:
    """How many of n examples a share is, at least one."""
    return max(1, round(share * n))


def at_risk_table(scores: Mapping[str, Floats], hit: Mask) -> pd.DataFrame:
    """One row per score and share of the examples: precision, what drawing examples blindly would give, and how much
    more it is, each a mean over networks; precision and excess with 95 % intervals over seeds.

    Ends are NaN with one network. A score that is NaN anywhere, or that tells no two examples apart, is left out.
    """
    n_models, n = hit.shape
    chance = hit.mean(axis=1)
    rows = []
    for name, score in scores.items():
        if not np.isfinite(score).all() or score.min() == score.max():
            continue
        for share in SHARES:
            precision = top_precision(score, hit, share)
            ends, more = _interval(precision), _interval(precision - chance)
            rows.append((name, share, top_size(n, share), n_models, *ends, chance.mean(), *more))
    return pd.DataFrame(rows, columns=COLUMNS)


def _interval(values: Floats) -> tuple[float, float, float]:
    spread = values.std(ddof=1) if len(values) > 1 else np.nan
    low, high = t_interval(values.mean(), spread, len(values))
    return float(values.mean()), float(low), float(high)
