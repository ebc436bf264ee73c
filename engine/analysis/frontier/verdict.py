"""Is the choice clear, a close call or a toss-up?"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pandas as pd

from engine.analysis.frontier.choice import Choice

CLEAR, CLOSE_CALL, TOSS_UP = "clear", "close call", "toss-up"
SURE, UNSURE = 0.8, 0.3
"""Shares of the resamples from which a choice may be clear, and below which it is a toss-up."""

UNTOLD = "one training run cannot say how sure the choice is"


@dataclass(frozen=True)
class Verdict:
    """How sure a choice is, in a word."""

    word: str
    """CLEAR, CLOSE_CALL or TOSS_UP; empty where it cannot be told."""
    share: float
    """Share of the resamples that choose the same network, or one equal to it."""
    rival: int | None
    """Place of the other network that wins most often, if any does."""
    rival_share: float
    reason: str = ""
    """Why there is no word."""


def verdict(choice: Choice, contenders: pd.DataFrame, confidence_set: Collection[int]) -> Verdict:
    """The verdict on a choice, from how often each contender wins and which points cannot be told from the best.

    Clear: it wins in at least 80 % of the resamples, and no other network is in the 95 % confidence set. Toss-up:
    another network wins more often, or it wins in under 30 %. Else a close call. `contenders` has position, n_seeds
    and share; points with the chosen one's sparsity and unfairness count as the same network.
    """
    same = {choice.chosen, *choice.twins}
    mine = contenders["position"].isin(same)
    share = float(contenders["share"][mine].sum())
    others = contenders[~mine & (contenders["share"] > 0)].sort_values("share", ascending=False, kind="stable")
    rival = int(others["position"].iloc[0]) if len(others) else None
    rival_share = float(others["share"].iloc[0]) if len(others) else 0.0
    chosen = contenders["position"] == choice.chosen
    if not (contenders["n_seeds"][chosen] > 1).any() or contenders["share"].isna().any():
        return Verdict("", np.nan, None, np.nan, UNTOLD)
    word = CLOSE_CALL
    if rival_share > share or share < UNSURE:
        word = TOSS_UP
    elif share >= SURE and same >= set(confidence_set):
        word = CLEAR
    return Verdict(word, share, rival, rival_share)
