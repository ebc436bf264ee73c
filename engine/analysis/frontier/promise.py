"""Which is the sparsest network whose every group surely loses little: learn then test (Angelopoulos et al. 2021)."""

from dataclasses import dataclass
from math import e

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, xlogy

Floats = NDArray[np.float64]

ALL_KEPT = "every network of the sequence keeps the promise"
NONE_KEPT = "not even the first network of the sequence can be shown to keep the promise"
STOPPED = "the next network cannot be shown to keep the promise"
EMPTY = "there is no network or no example to judge by"


@dataclass(frozen=True)
class PromisedChoice:
    """What a promise allows, wrong with probability at most delta over the draw of the calibration examples."""

    chosen: int | None
    """Place in the sequence of the last network that keeps the promise."""
    p_values: tuple[float, ...]
    """Of each network, that some group breaks the promise; NaN beyond the place where testing stopped."""
    stopped: int | None
    """Place of the first network that failed the test; None if none did."""
    worst_group: int | None
    """The group with the largest p-value there."""
    delta: float
    reason: str


def binomial_p_value(mean_loss: ArrayLike, n: ArrayLike, limit: ArrayLike) -> Floats:
    """Exact P(so few errors or fewer) where errors come at the rate `limit`; for losses of 0 and 1."""
    mean, n, limit = np.broadcast_arrays(*(np.asarray(a, float) for a in (mean_loss, n, limit)))
    errors = np.round(mean * n)
    p: Floats = np.where(limit >= 1, 0.0, _at_most(errors, n, np.clip(limit, 0, 1)))
    return p


def hoeffding_bentkus_p_value(mean_loss: ArrayLike, n: ArrayLike, limit: ArrayLike) -> Floats:
    """Bound on P(a mean loss so low or lower) where the expected loss is `limit`; for losses within 0 to 1.

    The smaller of Hoeffding's exp(-n h(mean, limit)) and Bentkus's e P(Binomial(n, limit) <= ceil(n mean)).
    """
    mean, n, limit = np.broadcast_arrays(*(np.asarray(a, float) for a in (mean_loss, n, limit)))
    inside = np.clip(limit, 1e-12, 1 - 1e-12)
    low = np.minimum(mean, inside)
    divergence = xlogy(low, low / inside) + xlogy(1 - low, (1 - low) / (1 - inside))
    bentkus = e * _at_most(np.ceil(n * mean - 1e-9), n, inside)
    p: Floats = np.where(limit <= 0, 1.0, np.minimum(1.0, np.minimum(np.exp(-n * divergence), bentkus)))
    return p


def _at_most(k: Floats, n: Floats, rate: Floats) -> Floats:
    """P(Binomial(n, rate) <= k)."""
    tail: Floats = np.where(k >= n, 1.0, betainc(np.maximum(n - k, 1), k + 1, 1 - rate))
    return tail


def fixed_sequence(p_values: ArrayLike, delta: float = 0.10) -> PromisedChoice:
    """The last network before the first whose promise fails; `p_values` are by network, in sequence, and group.

    A network must keep the promise for all groups, so that its p-value is the largest of theirs (intersection-union);
    and since testing stops at the first failure each is tested at the whole delta. NaN, as of an empty group, fails.
    """
    if not 0 < delta < 1:
        raise ValueError(f"delta is {delta}; it must lie between 0 and 1.")
    by_group = np.asarray(p_values, float)
    if by_group.size == 0:
        return PromisedChoice(None, (), None, None, delta, EMPTY)
    filled = np.where(np.isnan(by_group), 1.0, by_group)
    by_network = filled.max(axis=1)
    failed = np.flatnonzero(by_network > delta)
    stop = int(failed[0]) if len(failed) else None
    n_kept = len(by_network) if stop is None else stop
    shown = np.where(np.arange(len(by_network)) <= n_kept, by_network, np.nan)
    worst = None if stop is None else int(filled[stop].argmax())
    reason = ALL_KEPT if stop is None else STOPPED if n_kept else NONE_KEPT
    return PromisedChoice(n_kept - 1 if n_kept else None, tuple(shown.tolist()), stop, worst, delta, reason)


def promised_accuracy(n: ArrayLike, correct: ArrayLike, least: ArrayLike, delta: float = 0.10) -> PromisedChoice:
    """The sparsest network each of whose groups has at least this accuracy, wrong with probability at most delta.

    `n` is the calibration examples of each group, `correct` those that a network (row, by rising sparsity) has right;
    the test is the exact binomial. The examples must not have chosen or trained the networks.
    """
    n, correct = np.asarray(n, float), np.asarray(correct, float)
    if correct.size == 0:
        return fixed_sequence(np.zeros((0, 0)), delta)
    with np.errstate(invalid="ignore"):
        p = binomial_p_value((n - correct) / n, n, 1 - np.asarray(least, float))
    return fixed_sequence(np.where(n > 0, p, np.nan), delta)


def promised_choice(
    n: ArrayLike, correct: ArrayLike, baseline: ArrayLike, most_lost: float, delta: float = 0.10
) -> PromisedChoice:
    """The sparsest network of which no group loses more than `most_lost` (0.01 is a point) against its baseline.

    `baseline` is each group's accuracy as a fixed number, as one asked for or measured on other examples; where it is
    measured on the same examples use `promised_loss`, which pairs them.
    """
    return promised_accuracy(n, correct, np.asarray(baseline, float) - most_lost, delta)


def promised_loss(
    n: ArrayLike, broken: ArrayLike, mended: ArrayLike, most_lost: float, delta: float = 0.10
) -> PromisedChoice:
    """As `promised_choice`, against a baseline network on the same examples.

    `broken` and `mended` count, by network and group, examples that only the baseline or only the network has right.
    An example's loss is 1, 0 or -1, moved into 0 to 1, and judged by Hoeffding and Bentkus.
    """
    n, lost = np.asarray(n, float), np.asarray(broken, float) - np.asarray(mended, float)
    if lost.size == 0:
        return fixed_sequence(np.zeros((0, 0)), delta)
    with np.errstate(invalid="ignore", divide="ignore"):
        p = hoeffding_bentkus_p_value((1 + lost / n) / 2, n, (1 + most_lost) / 2)
    return fixed_sequence(np.where(n > 0, p, np.nan), delta)
