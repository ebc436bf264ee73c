"""How far could a mean or a share be off: intervals for means over seeds and for counts."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit

Floats = NDArray[np.float64]


def t_interval(mean: ArrayLike, sd: ArrayLike, n: ArrayLike, confidence: ArrayLike = 0.95) -> tuple[Floats, Floats]:
    """Low and high end of Student's interval of a mean; NaN where n < 2.

    `sd` has n - 1 below the line. Not clipped: a mean of accuracies near 1 may have its end above 1.
    """
    mean, sd, n = (np.asarray(a, float) for a in (mean, sd, n))
    n = np.where(n >= 2, n, np.nan)
    half = stdtrit(n - 1, 0.5 + np.asarray(confidence) / 2) * sd / np.sqrt(n)
    return mean - half, mean + half


def share_interval(mean: ArrayLike, sd: ArrayLike, n: ArrayLike) -> tuple[Floats, Floats]:
    """Student's interval of a mean of shares, such as accuracies: its ends are shares too, 0 to 1."""
    low, high = t_interval(mean, sd, n)
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def wilson_interval(correct: ArrayLike, n: ArrayLike, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Low and high end of Wilson's score interval of a share, within 0 to 1; NaN where n is 0.

    `correct` may be a fraction, as the mean of several seeds over the same n examples.
    """
    correct, n = np.asarray(correct, float), np.asarray(n, float)
    n = np.where(n > 0, n, np.nan)
    return score_interval(correct / n, n, ndtri(0.5 + confidence / 2))


def score_interval(share: ArrayLike, n: ArrayLike, critical: ArrayLike) -> tuple[Floats, Floats]:
    """Ends of the shares that a score test with this critical value does not reject, within 0 to 1."""
    share, n, z2 = np.asarray(share, float), np.asarray(n, float), np.asarray(critical, float) ** 2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return np.clip(centre - half, 0, 1), np.clip(centre + half, 0, 1)
