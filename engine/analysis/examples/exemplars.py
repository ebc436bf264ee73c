"""Which examples does compression change: where many baseline and many compressed networks say different things?

Hooker et al. 2020, Characterising Bias in Compressed Models: compression-identified exemplars (CIE), modal and taxicab.
Who is over-represented among them is left to `representation`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from engine.analysis.intervals import share_interval
from engine.errors import PruneScopeError

Ints = NDArray[np.integer]
Mask = NDArray[np.bool_]

PERCENTILES = (90.0, 95.0, 99.0)
CELLS = 1 << 22
"""Votes (examples x classes) counted at a time, so that memory does not grow with the classes."""


@dataclass(frozen=True, eq=False)
class Divergence:
    """How far two populations of `n_models` networks each disagree on every example."""

    n_models: int
    taxicab: NDArray[np.int64]
    """Sum over classes of |votes baseline - votes compressed|, from 0 to 2 n_models."""
    jaccard: NDArray[np.float64]
    """1 - sum of the smaller votes / sum of the larger ones, from 0 to 1; the same order as taxicab."""
    modal: Mask
    """The two sets of most frequent labels do not meet."""
    tied: Mask
    """One of the populations has more than one most frequent label."""


def votes(predictions: Ints, n_classes: int) -> NDArray[np.int32]:
    """How many networks give each example each label: (n_examples, n_classes) from (n_models, n_examples)."""
    counts = np.zeros((predictions.shape[1], n_classes), np.int32)
    rows = np.arange(len(counts))
    for said in predictions:
        counts[rows, said] += 1
    return counts


def usual_labels(counts: NDArray[np.integer]) -> Mask:
    """Which labels are the most frequent of each example, (n_examples, n_classes): more than one where votes tie."""
    return np.asarray(counts == counts.max(axis=1, keepdims=True))


def divergence(baseline: Ints, compressed: Ints, n_classes: int) -> Divergence:
    """How far the populations, each (n_models, n_examples), disagree; both must have equally many networks.

    Where votes tie, an example is modal only if no most frequent label is common to both populations: any other rule
    would depend on how classes are numbered.
    """
    if baseline.shape != compressed.shape or not len(baseline):
        raise PruneScopeError(
            f"The populations have shapes {baseline.shape} and {compressed.shape}; they need equally many networks, "
            "one at least, on the same examples."
        )
    n_models, n = baseline.shape
    taxicab, modal, tied = np.empty(n, np.int64), np.empty(n, bool), np.empty(n, bool)
    step = max(1, CELLS // n_classes)
    for start in range(0, n, step):
        part = slice(start, start + step)
        before, after = votes(baseline[:, part], n_classes), votes(compressed[:, part], n_classes)
        taxicab[part] = np.abs(before - after).sum(axis=1)
        top_before, top_after = usual_labels(before), usual_labels(after)
        modal[part] = ~(top_before & top_after).any(axis=1)
        tied[part] = (top_before.sum(axis=1) > 1) | (top_after.sum(axis=1) > 1)
    # Larger and smaller votes add up to 2 n_models, and their difference is the taxicab distance.
    return Divergence(n_models, taxicab, 2 * taxicab / (2 * n_models + taxicab), modal, tied)


def turned(labels: Ints, baseline: Ints, compressed: Ints, found: Divergence, n_classes: int) -> tuple[int, int, int]:
    """How many modal exemplars lose the true label as their most frequent one, how many gain it, and how many have it
    neither before nor after."""
    at = np.flatnonzero(found.modal)
    before, after = (votes(said[:, at], n_classes) for said in (baseline, compressed))
    rows = np.arange(len(at))
    was, now = (count[rows, labels[at]] == count.max(axis=1, initial=1) for count in (before, after))
    return int((was & ~now).sum()), int((now & ~was).sum()), int((~was & ~now).sum())


@dataclass(frozen=True, eq=False)
class Cut:
    """The examples above a percentile of the taxicab score; no chance decides where the cut falls inside a tie."""

    percentile: float
    weights: NDArray[np.float64]
    """How likely each example is in the cut when the places at its edge are dealt at random: 1 above the edge, 0 below,
    the share of tied examples that fit in at it. A mean with these weights is the expectation over all such deals."""
    listed: Mask
    """Every example that may be in the cut, all that tie at its edge included; none on which all networks agree."""
    edge: int
    """The lowest score in the cut."""
    n_tied: int
    """Examples at that score, in the cut or not."""
    n_left_out: int
    """How many of them do not fit in."""


def ranking(score: ArrayLike) -> NDArray[np.intp]:
    """Positions of the examples, highest score first; examples that tie stay in their own order."""
    return np.argsort(-np.asarray(score), kind="stable")


def percentile_cut(score: ArrayLike, percentile: float) -> Cut:
    """The top (100 - percentile) % of the examples, rounded up; a higher percentile's cut lies inside a lower one's."""
    if not 0 <= percentile < 100:
        raise PruneScopeError(f"The percentile is {percentile}; allowed is 0 or more and below 100.")
    score = np.asarray(score)
    if not len(score):
        return Cut(percentile, np.zeros(0), np.zeros(0, bool), 0, 0, 0)
    n_chosen = min(len(score), max(1, math.ceil(len(score) * (100 - percentile) / 100 - 1e-9)))
    edge = np.partition(score, len(score) - n_chosen)[len(score) - n_chosen]
    above, tied = score > edge, score == edge
    n_tied, n_fit = int(tied.sum()), n_chosen - int(above.sum())
    weights = np.where(above, 1.0, np.where(tied, n_fit / n_tied, 0.0))
    return Cut(percentile, weights, (above | tied) & (score > 0), int(edge), n_tied, n_tied - n_fit)


ACCURACY = ("subset", "percentile", "population", "n", "accuracy", "sd", "low", "high", "n_models")


def exemplar_accuracy(
    labels: Ints,
    baseline: Ints,
    compressed: Ints,
    found: Divergence,
    percentiles: Sequence[float] = PERCENTILES,
) -> pd.DataFrame:
    """One row per subset and population, as Hooker's Table 2: the columns of ACCURACY.

    Subsets are "all", "modal" and "modal rest", and for every percentile "taxicab" and "taxicab rest"; populations are
    "baseline" and "compressed". Accuracy is the mean over the networks, with their standard deviation and a 95 %
    t-interval (NaN with one network); NaN where the subset is empty. Where a cut falls inside a tie, a network's
    accuracy is its expectation over all ways to fill the cut.
    """
    subsets = [("all", np.nan, np.ones(len(labels)))]
    subsets += [("modal", np.nan, found.modal.astype(float)), ("modal rest", np.nan, (~found.modal).astype(float))]
    for percentile in percentiles:
        weights = percentile_cut(found.taxicab, percentile).weights
        subsets += [("taxicab", percentile, weights), ("taxicab rest", percentile, 1 - weights)]
    members = np.stack([weights for _, _, weights in subsets])
    table = pd.concat(
        [
            _means(accuracy_within(labels, predictions, members)).assign(population=name)
            for name, predictions in (("baseline", baseline), ("compressed", compressed))
        ],
        ignore_index=True,
    )
    both = [*subsets, *subsets]
    table["subset"], table["percentile"] = [name for name, _, _ in both], [at for _, at, _ in both]
    table["n"] = [round(weights.sum()) for _, _, weights in both]
    return table[list(ACCURACY)]


def held_out_accuracy(
    labels: Ints, baseline: Ints, compressed: Ints, n_classes: int, percentiles: Sequence[float] = PERCENTILES
) -> pd.DataFrame:
    """As `exemplar_accuracy`, but each half of the networks is scored on the exemplars that the other half picked.

    Networks that pick exemplars look worse on them by the picking alone; here that part is gone. `n` is the mean size
    of a subset. Empty with fewer than four networks, since a half needs two.
    """
    if len(baseline) < 4:
        return pd.DataFrame(columns=list(ACCURACY))
    halves = []
    middle = len(baseline) // 2
    for picks, scored in ((slice(0, middle), slice(middle, None)), (slice(middle, None), slice(0, middle))):
        found = divergence(baseline[picks], compressed[picks], n_classes)
        halves.append(exemplar_accuracy(labels, baseline[scored], compressed[scored], found, percentiles))
    table = halves[0].copy()
    table["accuracy"] = np.mean([half["accuracy"] for half in halves], axis=0)
    table["n"] = np.mean([half["n"] for half in halves], axis=0)
    return table.assign(sd=np.nan, low=np.nan, high=np.nan, n_models=len(baseline))


def accuracy_within(labels: Ints, predictions: Ints, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Accuracy of each network within each subset: (n_models, n_subsets); `weights` is (n_subsets, n_examples)."""
    right = (predictions == labels).astype(float)
    with np.errstate(invalid="ignore"):
        return np.asarray(right @ weights.T / weights.sum(axis=1))


def _means(accuracy: NDArray[np.float64]) -> pd.DataFrame:
    n_models = len(accuracy)
    mean = accuracy.mean(axis=0)
    sd = accuracy.std(axis=0, ddof=1) if n_models > 1 else np.full(len(mean), np.nan)
    low, high = share_interval(mean, sd, n_models)
    return pd.DataFrame({"accuracy": mean, "sd": sd, "low": low, "high": high, "n_models": n_models})
