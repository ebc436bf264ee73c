"""Would members (writers, say) differ as much if it did not matter who they are? Their examples are permuted."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.analysis.members.accuracy import ROUNDING, n_losing

N_DRAWS = 500
NO_MEMBERS = "there are not two members to compare"
NO_CHANGE = "among the examples that may be exchanged, all change alike or are of one member"


@dataclass(frozen=True)
class Permuted:
    """What chance alone gives, as the middle 95 % of the draws, and how the members compare with it.

    All numbers but `n_draws` are NaN where nothing can be permuted (see `reason`).
    """

    n_draws: int
    losing_low: float = np.nan
    losing_high: float = np.nan
    """Members that lose at least the loss more than the mean member."""
    worst_low: float = np.nan
    worst_high: float = np.nan
    """Change of the member that loses most."""
    spread: float = np.nan
    """Spread (standard deviation, weighted by examples) of the members' changes over its root mean square in the draws;
    1 is chance."""
    p: float = np.nan
    """Share of draws, the true one counted in, whose spread is at least that of the members."""
    reason: str = ""


def permuted(
    change: NDArray[np.floating],
    member: NDArray[np.integer],
    stratum: NDArray[np.integer],
    loss: float = 0.05,
    n_draws: int = N_DRAWS,
) -> Permuted:
    """The members beside `n_draws` random permutations of their examples.

    `change` is each example's change of being right, a mean over seeds; `member` numbers who it belongs to, below 0
    for nobody. Examples change owners within a stratum only (see `strata`), so that everybody keeps as many of each
    as they have: who has the harder classes, or is of the harder series, is not what is tested.
    """
    mine = member >= 0
    code, n = np.unique(member[mine], return_inverse=True, return_counts=True)[1:]
    if len(n) < 2:
        return Permuted(0, reason=NO_MEMBERS)
    draws = _draws(change[mine].astype(float), code, stratum[mine], n, n_draws)
    if draws is None:
        return Permuted(0, reason=NO_CHANGE)
    true = np.bincount(code, change[mine]) / n
    spread, spreads = (_spread(rows, n) for rows in (true, draws))
    losing, worst = (np.percentile(each, (2.5, 97.5)) for each in (n_losing(draws, loss), draws.min(axis=1)))
    return Permuted(
        n_draws,
        losing_low=float(losing[0]),
        losing_high=float(losing[1]),
        worst_low=float(worst[0]),
        worst_high=float(worst[1]),
        spread=float(np.sqrt(spread / spreads.mean())),
        p=float((1 + (spreads >= spread).sum()) / (1 + n_draws)),
    )


@dataclass(frozen=True)
class PayLine:
    """The loss from which on somebody pays, and how many lose that much by chance alone.

    The line is where 99 of 100 members would stay below if it did not matter who they are, rounded up to half a point,
    and no lower than what counts as steady. `low` and `high` are the middle 95 % of the draws' counts; NaN where
    nothing can be permuted (see `reason`), and the line is then the loss that counts as steady.
    """

    loss: float
    low: float = np.nan
    high: float = np.nan
    n_draws: int = 0
    reason: str = ""


STEADY, STEP, BELOW = 0.01, 0.005, 0.99
"""A loss of this much is steady; the line's steps; the share of members that chance keeps below it."""


def pay_line(
    change: NDArray[np.floating], member: NDArray[np.integer], stratum: NDArray[np.integer], n_draws: int = N_DRAWS
) -> PayLine:
    """The line for members whose examples change so (see `permuted`)."""
    mine = member >= 0
    code, n = np.unique(member[mine], return_inverse=True, return_counts=True)[1:]
    if len(n) < 2:
        return PayLine(STEADY, reason=NO_MEMBERS)
    draws = _draws(change[mine].astype(float), code, stratum[mine], n, n_draws)
    if draws is None:
        return PayLine(STEADY, reason=NO_CHANGE)
    line = max(STEP * float(np.ceil(np.quantile(-draws, BELOW) / STEP - ROUNDING)), STEADY)
    while n_paying(-draws, line).mean() > (1 - BELOW) * len(n):  # many draws may lie on the quantile itself
        line = STEP * round(line / STEP + 1)
    low, high = np.percentile(n_paying(-draws, line), (2.5, 97.5), method="inverted_cdf")
    return PayLine(line, float(low), float(high), n_draws)


def n_paying(losses: NDArray[np.floating], line: float) -> NDArray[np.intp]:
    """How many members lose at least so much; members are the last axis."""
    counts: NDArray[np.intp] = (losses >= line - ROUNDING).sum(axis=-1)
    return counts


def _draws(
    change: NDArray[np.floating],
    code: NDArray[np.integer],
    stratum: NDArray[np.integer],
    n: NDArray[np.integer],
    n_draws: int,
) -> NDArray[np.floating] | None:
    """Changes of members (draws, members) with examples permuted within strata; None where that changes nothing."""
    order = np.lexsort((code, stratum))
    code, values = code[order], change[order]
    bounds = np.flatnonzero(np.diff(stratum[order])) + 1
    pieces = list(zip(np.split(values, bounds), np.split(code, bounds), strict=True))
    if all(np.ptp(changes) == 0 or owners[0] == owners[-1] for changes, owners in pieces):
        return None
    random, draws = np.random.default_rng(0), np.zeros((n_draws, len(n)))
    for changes, owners in pieces:
        _add_permuted(draws, changes, owners, random)
    result: NDArray[np.floating] = draws / n
    return result


def strata(*columns: ArrayLike) -> NDArray[np.intp]:
    """A number for each row that is the same for rows that agree in all columns, such as class and series."""
    numbers = np.zeros(len(np.asarray(columns[0])), np.intp)
    for column in columns:
        values = np.unique(np.asarray(column).astype(str), return_inverse=True)[1]
        numbers = np.unique(numbers * (values.max(initial=0) + 1) + values, return_inverse=True)[1]
    return numbers


def _add_permuted(
    draws: NDArray[np.floating],
    changes: NDArray[np.floating],
    owners: NDArray[np.integer],
    random: np.random.Generator,
) -> None:
    """Add to each draw's members the sums of what they get of one stratum, whose examples stand member by member."""
    firsts = np.flatnonzero(np.diff(owners, prepend=-1))
    shuffled = random.permuted(np.broadcast_to(changes, (len(draws), len(changes))), axis=1)
    draws[:, owners[firsts]] += np.add.reduceat(shuffled, firsts, axis=1)


def _spread(changes: NDArray[np.floating], n: NDArray[np.integer]) -> NDArray[np.floating]:
    """Variance of the members' changes, weighted by their examples; of each row."""
    mean = (changes * n).sum(-1, keepdims=True) / n.sum()
    variance: NDArray[np.floating] = ((changes - mean) ** 2 * n).sum(-1) / n.sum()
    return variance
