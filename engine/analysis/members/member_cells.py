"""What a mixed logit of members needs of the examples: rates of members and classes, before and after, by seed."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from engine.analysis.members.lines import Floats

Ints = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class MemberCells:
    """One cell per member and class, member by member; the last axis of two is before and after."""

    names: Ints | NDArray[np.object_]
    """Of the members."""
    member: Ints
    """Number of the member of each cell, rising."""
    n: Floats
    """Examples in each cell."""
    rate: Floats
    """Share that is right, mean over seeds: (cells, 2)."""
    rate_by_seed: Floats
    """(seeds, cells, 2)."""
    moment: Floats
    """Mean over the cell's examples of the products of their shares of right seeds: (cells, 2, 2)."""
    fixed: Floats
    """What tells cells apart: a column per class, one per group after the first, and the attribute: (cells, k)."""
    attribute: float
    """One standard deviation of the attribute among members, the unit of the last column; NaN without one."""


def member_cells(
    examples: pd.DataFrame,
    before: NDArray[np.integer],
    after: NDArray[np.integer],
    member: str,
    attribute: str | None = None,
    by: str | None = None,
) -> MemberCells:
    """The cells of all members; examples of nobody, without an attribute or of no group are left out."""
    columns = [name for name in (member, attribute, by) if name]
    rows = np.flatnonzero(examples[columns].notna().all(axis=1).to_numpy())
    chosen, label = examples.iloc[rows], examples["label"].to_numpy()[rows]
    code, names = pd.factorize(chosen[member], sort=True)
    classes, class_code = np.unique(label, return_inverse=True)
    cells, cell = np.unique(code * len(classes) + class_code, return_inverse=True)
    n = np.bincount(cell).astype(float)
    right = np.stack([np.atleast_2d(p)[:, rows] == label for p in _paired(before, after)], axis=-1)
    by_seed = np.stack([_cell_means(each, cell, n) for each in right.astype(float)])
    mean = right.mean(axis=0)
    products = (mean[:, :, None] * mean[:, None, :]).reshape(-1, 4)
    fixed = [np.eye(len(classes))[cells % len(classes)]]
    owner = cells // len(classes)
    if by:
        groups = chosen[by].astype(str).groupby(code).first().to_numpy()
        fixed.append(pd.get_dummies(groups).to_numpy(float)[owner][:, 1:])
    step = np.nan
    if attribute:
        values = chosen[attribute].astype(float).groupby(code).mean().to_numpy()
        step = float(values.std()) or 1.0
        fixed.append(((values - values.mean()) / step)[owner, None])
    return MemberCells(
        names=np.asarray(names),
        member=owner,
        n=n,
        rate=by_seed.mean(axis=0),
        rate_by_seed=by_seed,
        moment=_cell_means(products, cell, n).reshape(-1, 2, 2),
        fixed=np.column_stack(fixed),
        attribute=step,
    )


def _paired(before: NDArray[np.integer], after: NDArray[np.integer]) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    """Both with the same seeds; where their numbers differ, as many as both have."""
    before, after = np.atleast_2d(before), np.atleast_2d(after)
    n_seeds = min(len(before), len(after))
    return before[:n_seeds], after[:n_seeds]


def _cell_means(values: Floats, cell: Ints, n: Floats) -> Floats:
    """Means of the columns within each cell."""
    return np.column_stack([np.bincount(cell, column) / n for column in values.T])
