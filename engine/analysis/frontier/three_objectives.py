"""Which operating points does no other one beat in accuracy, sparsity and fairness at once, and which techniques do so?

Paganini 2020, Fig. 4b. No threshold is needed: accuracy is an objective of its own.
"""

from bisect import bisect_left, bisect_right

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from engine.analysis.frontier.points import pareto_front


def pareto_front_3d(sparsity: ArrayLike, unfairness: ArrayLike, accuracy: ArrayLike) -> NDArray[np.bool_]:
    """True where no other point is at least as sparse, as fair and as accurate, and better in one of the three.

    Equal points share a fate; a point with NaN is never on the frontier and dominates nothing. The sparsest come first
    and leave a staircase of what they reach in the other two, so that it takes O(n log n).
    """
    sparse, unfair, accurate = (np.asarray(values, float) for values in (sparsity, unfairness, accuracy))
    front = np.zeros(sparse.shape, bool)
    whole = np.flatnonzero(~(np.isnan(sparse) | np.isnan(unfair) | np.isnan(accurate)))
    if not len(whole):
        return front
    order = whole[np.argsort(-sparse[whole], kind="stable")]
    starts = 1 + np.flatnonzero(sparse[order[1:]] != sparse[order[:-1]])
    steps: tuple[list[float], list[float]] = ([], [])
    for tied in np.split(order, starts):
        best = tied if len(tied) == 1 else tied[pareto_front(accurate[tied], unfair[tied])]
        beaten = [_is_reached(steps, unfair[k], accurate[k]) for k in best]
        new = best[~np.array(beaten)]
        front[new] = True
        for k in new:
            _add(steps, float(unfair[k]), float(accurate[k]))
    return front


def techniques_on_front(points: pd.DataFrame, front: ArrayLike) -> pd.DataFrame:
    """One row per technique, sorted: technique, n_points, n_on_front, is_optimal, lowest, highest, sparsities.

    `is_optimal` says whether it is ever on the frontier; `sparsities` are those at which it is, in rising order, and
    `lowest` and `highest` their ends, NaN where it never is.
    """
    rows = pd.DataFrame(
        {
            "technique": points["technique"].astype(str).to_numpy(),
            "sparsity": points["sparsity"].to_numpy(float),
            "on_front": np.asarray(front, bool),
        }
    )
    verdicts = []
    for technique, own in rows.groupby("technique"):
        sparsities = tuple(float(value) for value in np.unique(own.loc[own["on_front"], "sparsity"]))
        ends = (sparsities[0], sparsities[-1]) if sparsities else (np.nan, np.nan)
        verdicts.append((technique, len(own), int(own["on_front"].sum()), bool(sparsities), *ends, sparsities))
    names = ["technique", "n_points", "n_on_front", "is_optimal", "lowest", "highest", "sparsities"]
    return pd.DataFrame(verdicts, columns=names)


def _is_reached(steps: tuple[list[float], list[float]], unfairness: float, accuracy: float) -> bool:
    """Whether a sparser point is at least as fair and as accurate; both lists rise."""
    unfair, accurate = steps
    place = bisect_right(unfair, unfairness)
    return place > 0 and accurate[place - 1] >= accuracy


def _add(steps: tuple[list[float], list[float]], unfairness: float, accuracy: float) -> None:
    """Put a point into the staircase and take out those that it makes needless; an equal one stays as it is."""
    unfair, accurate = steps
    start = bisect_left(unfair, unfairness)
    end = max(start, bisect_right(accurate, accuracy))
    unfair[start:end], accurate[start:end] = [unfairness], [accuracy]
