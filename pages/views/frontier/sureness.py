"""How often each network wins when the seeds are drawn again, as a table that adds to 100 %."""

import pandas as pd
import streamlit as st

from engine.analysis.frontier.choice import Choice
from engine.analysis.frontier.resampling import SeedGrid
from engine.analysis.frontier.stability import Agreement, on_frontier, winners
from pages.shared import formats
from pages.shared.names import point_short

WINNER_COLUMNS = {
    "": st.column_config.TextColumn(width=30, help="★ chosen"),
    "wins": st.column_config.ProgressColumn(format="%.0f %%", min_value=0, max_value=100, help="Share of redraws."),
    "on the frontier": st.column_config.TextColumn(help="Share of redraws in which no other is sparser and fairer."),
    "told from the best": st.column_config.TextColumn(help="Whether it is outside the 95 % confidence set."),
}


def winners_table(points: pd.DataFrame, grid: SeedGrid, choice: Choice, trust: Agreement) -> pd.DataFrame:
    """One row per network that wins in more than 1 % of redrawn seeds, on the frontier or not, and the others."""
    table = winners(trust)
    peers, shares = set(trust.confidence_set), on_frontier(points, grid, choice)
    names, marks, sparsities, gaps, told, member = [], [], [], [], [], []
    for place, n_networks in zip(table["position"], table["n_networks"], strict=True):
        point = None if place is pd.NA else points.iloc[int(place)]
        names.append(_others(n_networks) if point is None else point_short(point))
        marks.append("★" if place is not pd.NA and place == choice.chosen else "")
        sparsities.append(formats.MISSING if point is None else formats.sparsity(point["sparsity"]))
        gaps.append(formats.MISSING if point is None else formats.unfairness(point[choice.measure], choice.measure))
        told.append(formats.MISSING if point is None else "no" if place in peers else "yes")
        member.append(formats.MISSING if point is None else formats.percent(shares[int(place)], 0))
    return pd.DataFrame(
        {
            "": marks,
            "network": names,
            "sparsity": sparsities,
            "unfairness": gaps,
            "wins": 100 * table["share"],
            "on the frontier": member,
            "told from the best": told,
        }
    )


def winners_caption(trust: Agreement) -> str:
    """What was drawn."""
    count = formats.count(trust.n_resamples)
    drawn = (
        f"All {count} ways to redraw the training runs, each by its probability" if trust.exact else f"{count} redraws"
    )
    drawn += " of the training runs and of who made the test examples" * trust.of_members
    return f"{drawn}; a tie goes to the fairer. Told from the best: outside the 95 % confidence set."


def _others(n: int) -> str:
    """A row without a network of its own."""
    if not n:
        return "no network reaches the threshold"
    return f"{formats.count(n)} other{'s' if n > 1 else ''}, each in at most 1 %"
