"""Which of the red flags does a headline speak of: the sparsest model that keeps its accuracy, and the largest loss?"""

import pandas as pd

from engine.analysis.curves.red_flags import headline


def sparsest_flag(flags: pd.DataFrame) -> pd.Series | None:
    """The flag of the sparsest model that keeps its accuracy; None where none does."""
    return None if flags["sparsity"].isna().all() else flags.loc[flags["sparsity"].idxmax()]


def largest_loss(flags: pd.DataFrame) -> tuple[pd.Series, str] | None:
    """The first flag with the largest loss of all, and whether it is a "class" or a "group" that loses; None where
    nobody loses."""
    change = headline(flags).change
    rows = flags[(flags[["class_change", "group_change"]] == change).any(axis=1)]
    if rows.empty:
        return None
    return rows.iloc[0], "class" if rows.iloc[0]["class_change"] == change else "group"
