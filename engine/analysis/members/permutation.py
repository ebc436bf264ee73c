"""Would members (writers, say) differ as much if it did not matter who they are? Examples are dealt to them anew."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

N_DRAWS = 500
NO_MEMBERS = "there are not two members to compare"
NO_CHANGE = "within each class, all examples change alike"


@dataclass(frozen=True)
class Permuted:
    """What chance alone gives, as the middle 95 % of the draws, and how the members compare with it.

    All numbers but `n_draws` are NaN where nothing can be dealt (see `reason`).
    """

    n_draws: int
    losing_low: float = np.nan
    losing_high: float = np.nan
    """Members that lose more than the loss."""
    worst_low: float = np.nan
    worst_high: float = np.nan
    """Change of the member that loses most."""
    spread: float = np.nan
    """Spread (standard deviation, weighted by examples) of the members' changes over its root mean square in the draws;
    1 is chance."""
    p: float = np.nan
    """Share of deals, the true one counted in, whose spread is at least that of the members."""
    reason: str = ""


def permuted(
    change: NDArray[np.floating],
    member: NDArray[np.integer],
    label: NDArray[np.integer],
    loss: float = 0.05,
    n_draws: int = N_DRAWS,
) -> Permuted:
    """The members beside `n_draws` random deals of their examples.

    `change` is each example's change of being right, a mean over seeds; `member` numbers who it belongs to, below 0
    for nobody. Each deal hands the examples of a class out anew among those who had some, so that everybody keeps as
    many of each class as they have: who has the harder classes is not what is tested.
    """
    mine = member >= 0
    code, n = np.unique(member[mine], return_inverse=True, return_counts=True)[1:]
    if len(n) < 2:
        return Permuted(0, reason=NO_MEMBERS)
    order = np.argsort(label[mine], kind="stable")
    code, values = code[order], change[mine][order].astype(float)
    bounds = np.flatnonzero(np.diff(label[mine][order])) + 1
    classes = [part.copy() for part in np.split(values, bounds)]
    if all(np.ptp(part) == 0 for part in classes):
        return Permuted(0, reason=NO_CHANGE)
    random, deals = np.random.default_rng(0), np.empty((n_draws, len(n)))
    for draw in range(n_draws):
        for part in classes:
            random.shuffle(part)
        deals[draw] = np.bincount(code, np.concatenate(classes)) / n
    true = np.bincount(code, values) / n
    spread, spreads = (_spread(rows, n) for rows in (true, deals))
    losing, worst = (np.percentile(found, (2.5, 97.5)) for found in ((deals < -loss).sum(axis=1), deals.min(axis=1)))
    return Permuted(
        n_draws,
        losing_low=float(losing[0]),
        losing_high=float(losing[1]),
        worst_low=float(worst[0]),
        worst_high=float(worst[1]),
        spread=float(np.sqrt(spread / spreads.mean())),
        p=float((1 + (spreads >= spread).sum()) / (1 + n_draws)),
    )


def _spread(changes: NDArray[np.floating], n: NDArray[np.integer]) -> NDArray[np.floating]:
    """Variance of the members' changes, weighted by their examples; of each row."""
    mean = (changes * n).sum(-1, keepdims=True) / n.sum()
    variance: NDArray[np.floating] = ((changes - mean) ** 2 * n).sum(-1) / n.sum()
    return variance
