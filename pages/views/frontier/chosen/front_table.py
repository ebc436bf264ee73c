"""The frontier as a table: what a person compares, and opens by a click."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from engine.analysis.columns import is_mitigated
from engine.analysis.frontier.choice import Choice
from engine.analysis.frontier.stability import Agreement
from pages.shared import formats
from pages.shared.names import arm_name, measure_name, technique_at, treatment_name

COST_HEADS = {
    "bytes": ("kB", 1e-3),
    "bytes_zipped": ("kB zipped", 1e-3),
    "macs": ("million MACs", 1e-6),
    "milliseconds": ("ms", 1.0),
    "bits": ("bits", 1.0),
    "params": ("million parameters", 1e-6),
}


def frontier_table(points: pd.DataFrame, choice: Choice, wins: pd.DataFrame, trust: Agreement) -> pd.DataFrame:
    """The frontier, best value first: what a person compares."""
    at = frontier_places(points, choice)
    names = ("technique", "treatment", "mitigation", "level", "sparsity", "accuracy", "n_seeds", choice.measure)
    rows = {name: points[name].to_numpy()[at] for name in names}
    spans = zip(*(wins[name] for name in ("position", "low", "high")), strict=True)
    stretch = {place: f"{formats.number(low)} to {formats.number(high)}" for place, low, high in spans}
    drawn = dict(zip(trust.table["position"], trust.table["share"], strict=True))
    never = np.where(rows["n_seeds"] > 1, 0.0, np.nan)
    named = list(zip(rows["technique"], rows["treatment"], rows["level"], strict=True))
    return pd.DataFrame(
        {
            "": ["★" if i == choice.chosen else "○" if i == choice.runner_up else "" for i in at],
            "technique": [technique_at(technique, level) for technique, _, level in named],
            "treatment": [treatment_name(treatment) if level else formats.MISSING for _, treatment, level in named],
            "mitigation": [
                arm_name(str(name)) if is_mitigated(str(name)) else formats.MISSING for name in rows["mitigation"]
            ],
            "level": rows["level"],
            "sparsity": [formats.sparsity(value) for value in rows["sparsity"]],
            "accuracy": rows["accuracy"] * 100,
            "unfairness": [formats.unfairness(value, choice.measure) for value in rows[choice.measure]],
            "value": choice.values[at],
            "wins at weights": [stretch.get(i, "never") for i in at],
            "resamples": [100 * drawn.get(i, share) for i, share in zip(at, never, strict=True)],
            "seeds": rows["n_seeds"],
        }
        | {name: factor * points[column].to_numpy(float)[at] for name, column, factor in _costs(points, at)}
    )


def frontier_places(points: pd.DataFrame, choice: Choice) -> np.ndarray:
    """The places of the frontier's points as its table has them."""
    at = np.flatnonzero(choice.frontier)
    return _without_repeats(points, choice, at[np.lexsort((at != choice.chosen, -choice.values[at]))])


def _costs(points: pd.DataFrame, at: np.ndarray) -> list[tuple[str, str, float]]:
    """What of COSTS some of these points have: the column's head, the column, and what it is multiplied by."""
    known = [name for name in COST_HEADS if name in points and points[name].notna().to_numpy()[at].any()]
    return [(head, name, factor) for name in known for head, factor in [COST_HEADS[name]]]


def _without_repeats(points: pd.DataFrame, choice: Choice, at: np.ndarray) -> np.ndarray:
    """The places without the dense networks that equal an earlier one: techniques start from the same."""
    level, accuracy, gap = (points[name].to_numpy()[at] for name in ("level", "accuracy", choice.measure))
    first = {(accuracy[i], gap[i]): i for i in range(len(at) - 1, -1, -1) if level[i] == 0}
    return at[[level[i] > 0 or first[accuracy[i], gap[i]] == i for i in range(len(at))]]


def frontier_columns(measure: str, table: pd.DataFrame) -> dict[str, Any]:
    """How the frontier's columns are shown; that of mitigations only where some network has one."""
    column, shows_mitigation = st.column_config, (table["mitigation"] != formats.MISSING).any()
    return {
        "": column.TextColumn(width=30, help="★ chosen, ○ runner-up"),
        "accuracy": column.NumberColumn(format="%.1f %%"),
        "unfairness": column.TextColumn(help=measure_name(measure)),
        "wins at weights": column.TextColumn(help="At any weight in this range this point is chosen."),
        "resamples": column.ProgressColumn(
            "wins in redraws",
            format="%.0f %%",
            min_value=0,
            max_value=100,
            help="Share of redraws of the training runs.",
        ),
        "mitigation": column.TextColumn() if shows_mitigation else None,
        "level": None,
        "seeds": None,
        "value": None,
        "kB": column.NumberColumn(format="%.0f", help="The weights as a file, without channels that do nothing."),
        "kB zipped": column.NumberColumn(format="%.0f", help="The same file, zipped: where zeros count."),
        "million MACs": column.NumberColumn(format="%.2f", help="Multiplications that one image takes."),
        "ms": column.NumberColumn(format="%.2f", help="Milliseconds of one image."),
        "bits": column.NumberColumn(format="%.3g", help="Bits of a weight."),
        "million parameters": column.NumberColumn(format="%.3g", help="Parameters of the network."),
    }
