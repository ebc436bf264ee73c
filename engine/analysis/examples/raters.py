"""Do two people mark the same examples alike, beyond what chance would do?"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

FEW = "no example was marked by both"
ALIKE = "both gave all of them the same mark, so that chance alone would agree as well"


@dataclass(frozen=True, eq=False)
class Agreeing:
    """How two people agree on the examples that both marked; kappa is NaN with a reason where it means nothing."""

    n: int
    share: float
    """Of the examples on which they agree."""
    kappa: float
    """Cohen's: 1 all alike, 0 as often as by chance, below 0 less often than that."""
    table: pd.DataFrame
    """How often one gave each mark (rows) where the other gave each (columns)."""
    reason: str = ""


def agreeing(marks: pd.DataFrame, one: str, other: str, kinds: tuple[str, ...]) -> Agreeing:
    """Agreement of two people, from a table of `example`, `who` and `mark`, each person's example once."""
    mine, theirs = (marks[marks["who"] == name].set_index("example")["mark"] for name in (one, other))
    both = mine.index.intersection(theirs.index)
    table = pd.crosstab(pd.Categorical(mine[both], kinds), pd.Categorical(theirs[both], kinds), dropna=False).reindex(
        index=list(kinds), columns=list(kinds), fill_value=0
    )
    n = len(both)
    if not n:
        return Agreeing(0, np.nan, np.nan, table, FEW)
    counts = table.to_numpy(float) / n
    share, chance = float(np.trace(counts)), float(counts.sum(axis=1) @ counts.sum(axis=0))
    if chance > 1 - 1e-12:
        return Agreeing(n, share, np.nan, table, ALIKE)
    return Agreeing(n, share, (share - chance) / (1 - chance), table)
