"""What do the seeds of one model say together: mean, spread and how many they are."""

from collections.abc import Sequence

import pandas as pd


def over_seeds(table: pd.DataFrame, keys: Sequence[str], values: Sequence[str]) -> pd.DataFrame:
    """One row per distinct `keys`, sorted: `n_seeds`, and for each value its mean, `<value>_sd` and `<value>_n`.

    The mean is over the seeds that have the value (`<value>_n` of them; NaN if none); the standard deviation has
    n - 1 below the line and is NaN with one seed.
    """
    groups = table.groupby(list(keys), observed=True, dropna=False)
    chosen = groups[list(values)]
    parts = [
        groups.size().rename("n_seeds").to_frame(),
        chosen.mean(),
        chosen.std().add_suffix("_sd"),
        chosen.count().add_suffix("_n"),
    ]
    ordered = [f"{value}{suffix}" for value in values for suffix in ("", "_sd", "_n")]
    return pd.concat(parts, axis=1)[["n_seeds", *ordered]].reset_index()
