"""What does the cut alone cost each group, and what is left of it after training: excessive losses (Tran 2022, Eq. 2).

Takes the tables `losses` of many runs, with identity, seed and sparsity of each row.
"""

import pandas as pd

from engine.analysis.columns import MODEL
from engine.analysis.intervals import t_interval
from engine.analysis.seeds import over_seeds

MOMENTS = ("cut", "trained")
"""Right after the cut, and after the training that follows it."""
_KEYS = ("run", *MODEL, "seed", "level", "sparsity", "grouping")


def excessive_losses(losses: pd.DataFrame) -> pd.DataFrame:
    """One row per pruned model, grouping and group: n, and the rise of its mean loss since dense at both MOMENTS.

    `cut` is NaN where weights are cut while training. Runs without a dense level are left out.
    """
    dense = losses.loc[losses["level"] == 0, ["run", "grouping", "group", "loss"]].rename(columns={"loss": "dense"})
    rows = losses[losses["level"] > 0].merge(dense, on=["run", "grouping", "group"])
    rows = rows.assign(cut=rows["cut_loss"] - rows["dense"], trained=rows["loss"] - rows["dense"])
    return rows[[*_KEYS, "group", "n", *MOMENTS]]


def violations(excessive: pd.DataFrame) -> pd.DataFrame:
    """One row per model, level and grouping: n_seeds, sparsity, and at both MOMENTS the largest difference of excessive
    losses between two groups (Eq. 3), mean over seeds with `_low` and `_high`; NaN with fewer than two groups."""
    each = excessive.groupby(list(_KEYS), observed=True, dropna=False)[list(MOMENTS)]
    spread = (each.max() - each.min()).where(each.count() > 1).reset_index()
    keys = [*MODEL, "level", "grouping"]
    table = over_seeds(spread, keys, ["sparsity", *MOMENTS])
    for moment in MOMENTS:
        low, high = t_interval(table[moment], table[f"{moment}_sd"], table[f"{moment}_n"])
        table = table.assign(**{f"{moment}_low": low, f"{moment}_high": high})
    ends = [f"{moment}{end}" for moment in MOMENTS for end in ("", "_low", "_high")]
    return table[[*keys, "n_seeds", "sparsity", *ends]]
