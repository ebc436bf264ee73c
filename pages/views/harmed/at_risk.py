"""The last part of Harmed examples: who was at risk by the dense networks alone, and who of them was lost."""

import numpy as np
import pandas as pd
import streamlit as st

from engine.analysis.examples.at_risk import SCORES, at_risk_table, lost
from engine.errors import PruneScopeError
from pages.shared import formats
from pages.shared.cache import predictions
from pages.shared.frame import Frame
from pages.shared.layout import show_rows
from pages.shared.pickers import Populations

HELP = "\n\n".join(
    [
        "Each score looks at the dense networks only: no label, no pruned network (after Iofinova et al. 2023).",
        *(f"**{row.label}**: {row.help}" for row in SCORES.values()),
        "An example is lost where the network before pruning was right and the pruned one is wrong.",
    ]
)


def show_risk(frame: Frame, networks: Populations, labels: np.ndarray, n_classes: int) -> None:
    """A sentence and a table: of the examples most at risk, how many are lost, beside examples drawn by chance."""
    try:
        scores = predictions.risk_scores(frame.source, networks.runs, n_classes)
    except (PruneScopeError, IndexError) as error:
        st.info(f"**The dense networks cannot be asked.** {formats.plain(error)}", icon=":material/info:")
        return
    table = at_risk_table(scores, lost(labels, networks.before, networks.compressed))
    if table.empty:
        st.info(
            "**One dense network alone tells nothing here**: two training runs or more, or margins that the run kept, "
            "say who is at risk.",
            icon=":material/info:",
        )
        return
    st.markdown(risk_sentence(table))
    show_rows(risk_rows(table), "risk-table", "How many of those most at risk are lost.")
    seeds = formats.seeds(int(table["n_models"].iloc[0]))
    st.caption(
        f"Averages of {seeds}, with 95 % intervals. Lost: right before ({networks.baseline}), wrong after. "
        "By chance: any example, whatever its score."
    )


def risk_sentence(table: pd.DataFrame, top: float = 0.05) -> str:
    """What the last of `SCORES` that was recorded, whatever happened, says of the top share; markdown."""
    row = table[table["top"] == top].iloc[-1]
    name = SCORES[str(row["score"])].label.lower()
    text = (
        f"Of the {100 * top:g} % of examples most at risk before pruning (by {name}), "
        f"**{formats.percent(row['precision'])} are lost**; of all examples, {formats.percent(row['chance'])}"
    )
    if row["above_low"] > 0:
        return f"{text}. **The dense networks tell in advance who is at risk**{_times(row)}."
    if row["above_low"] != row["above_low"]:
        return f"{text}. One training run says nothing about chance."
    return f"{text}. The interval of the difference includes 0: the dense networks do not clearly tell who is at risk."


def risk_rows(table: pd.DataFrame) -> pd.DataFrame:
    """The table for people."""
    return pd.DataFrame(
        {
            "at risk by": [SCORES[str(name)].label for name in table["score"]],
            "most at risk": [f"top {100 * top:g} %" for top in table["top"]],
            "examples": [formats.count(n) for n in table["n"]],
            "lost of them": [_with_ends(row) for row in table.to_dict("records")],
            "by chance": [formats.percent(value) for value in table["chance"]],
            "times": [_ratio(row) for row in table.to_dict("records")],
        }
    )


def _with_ends(row: dict[str, float]) -> str:
    half = (row["high"] - row["low"]) / 2
    return formats.percent(row["precision"]) + (f" ± {100 * half:.1f}" if half == half else "")


def _ratio(row: dict[str, float]) -> str:
    return formats.fixed(row["precision"] / row["chance"], 1) if row["chance"] else formats.MISSING


def _times(row: pd.Series) -> str:
    return f": {row['precision'] / row['chance']:.1f} times as often as by chance" if row["chance"] else ""
