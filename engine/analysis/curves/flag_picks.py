"""Which of the red flags does a headline speak of: the sparsest model that keeps its accuracy, and the surest loss?

Models that were trained against gaps are spoken of only where no other keeps its accuracy: what they do is no answer to
what pruning does.
"""

import pandas as pd

from engine.analysis.columns import UNMITIGATED
from engine.analysis.curves.red_flags import surest_loss


def sparsest_flag(flags: pd.DataFrame) -> pd.Series | None:
    """The flag of the sparsest model that keeps its accuracy; None where none does."""
    flags = _spoken_of(flags)
    return None if flags["sparsity"].isna().all() else flags.loc[flags["sparsity"].idxmax()]


def largest_loss(flags: pd.DataFrame) -> tuple[pd.Series, str] | None:
    """The flag with the loss that is at least largest, and whether a "class" or a "group" loses; None where nobody
    loses."""
    flags = _spoken_of(flags)
    surest = surest_loss(flags)
    return None if surest is None else (flags.loc[surest[0]], surest[1])


def by_evidence(flags: pd.DataFrame) -> pd.DataFrame:
    """The flags of models that keep their accuracy, with `sure`: the loss of a class or group that is at least there,
    the largest first; NaN where no interval can be had, and these last. 0 or less: not told from chance."""
    listed = flags.dropna(subset="level")
    sure = -listed[["class_high", "group_high"]].astype(float).min(axis=1)
    return listed.assign(sure=sure).sort_values("sure", ascending=False, kind="stable", na_position="last")


def _spoken_of(flags: pd.DataFrame) -> pd.DataFrame:
    usual = flags[flags["mitigation"].isin(UNMITIGATED)]
    return flags if usual["level"].isna().all() else usual
