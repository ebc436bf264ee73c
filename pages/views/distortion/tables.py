"""Recall distortion in tables: which ratios to show, intervals with verdicts, p-values, names of classes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from engine.analysis.distortion.verdicts import MARKS, verdict
from pages.shared import formats
from pages.shared.cache import catalog
from pages.shared.cache.catalog import Experiment, Source
from pages.views.distortion.series import Series

PLURAL = {"technique": "techniques", "network": "networks", "dataset": "data sets"}
PAIRED = "Two-sided and paired by seed, as in the paper: both cut the same dense network."
INDEPENDENT = (
    "Two-sided and independent (Welch): the dense networks differ, and so may their spread. The paper tested "
    "one-sided, for it ranked its networks and data sets beforehand; we do not."
)
PAPER_RATIOS = (2, 4, 10, 20, 50)
SIGNIFICANT = 0.05
HEAT = "0, 114, 178"
"""Colour of a small p-value and of a decided verdict, as red, green, blue."""


def default_ratios(cells: pd.DataFrame, most: int = 6) -> list[float]:
    """All ratios if they are few; else, for each of the paper's, the nearest that most series have."""
    n_series = cells.groupby("ratio")["series"].nunique()
    ratios = n_series.index.to_numpy(float)
    if len(ratios) <= most:
        return list(ratios)
    picked = set()
    for wanted in PAPER_RATIOS:
        away = np.abs(np.log(ratios / wanted))
        picked.add(float(ratios[np.lexsort((away, -n_series.to_numpy(), away > 0.25))[0]]))
    return sorted(picked)


def ratio_names(ratios: Iterable[float]) -> dict[float, str]:
    """The ratios in order, each with as many digits as tell all of them apart."""
    ordered = sorted(map(float, ratios))
    for digits in range(3, 17):
        names = [formats.number(ratio, digits) for ratio in ordered]
        if len(set(names)) == len(ordered):
            break
    return dict(zip(ordered, names, strict=True)) if ordered else {}


def interval_table(cells: pd.DataFrame, controls: pd.DataFrame, order: Sequence[str], kind: str) -> pd.DataFrame:
    """One row per series and ratio, series in their order; numbers stay numbers. `kind` heads the column of series; the
    columns on controls are there if any series has one."""
    place = {name: number for number, name in enumerate(order)}
    rows = cells.assign(place=cells["series"].map(place)).sort_values(["place", "ratio"])
    rows = rows.merge(controls, on=["series", "ratio"], how="left")
    against = verdict(1 + rows["control_low"], 1 + rows["control_high"])
    marked = [f"{MARKS[name]} {name}" for name in map(str, against)]
    table = pd.DataFrame(
        {
            kind: rows["series"],
            "Ratio": rows["ratio"],
            "Sparsity": rows["sparsity"],
            "Alpha": rows["alpha"],
            "Alpha ±": (rows["high"] - rows["low"]) / 2,
            "Verdict": rows["mark"] + " " + rows["verdict"],
            "Control": rows["control"],
            "Against it": rows["control_change"],
            "Against ±": (rows["control_high"] - rows["control_low"]) / 2,
            "Verdict against it": pd.Series(marked, rows.index).where(rows["control"].notna()),
            "All gaps": rows["spread"],
            "Accuracy": rows["accuracy"],
            "Since dense": rows["change"],
            "Change ±": (rows["change_high"] - rows["change_low"]) / 2,
            "Seeds": rows["n_seeds"],
        }
    )
    return table if len(controls) else table.drop(columns=["Control", "Against it", "Against ±", "Verdict against it"])


def styled_intervals(table: pd.DataFrame) -> Styler:
    """The table with our formats, and colour where a verdict is decided."""
    written: dict[str, Callable[[float], str]] = {
        "Ratio": formats.number,
        "Sparsity": formats.sparsity,
        "Alpha": formats.number,
        "Alpha ±": lambda value: formats.number(value, 2),
        "Control": formats.number,
        "Against it": lambda value: formats.number(value, 2),
        "Against ±": lambda value: formats.number(value, 2),
        "All gaps": lambda value: formats.MISSING if pd.isna(value) else f"{value:.2f} ×",
        "Accuracy": formats.percent,
        "Since dense": formats.points,
        "Change ±": lambda value: formats.points(value, sign=False),
    }
    decided = [name for name in ("Verdict", "Verdict against it") if name in table]
    return table.style.format({name: write for name, write in written.items() if name in table}).map(
        lambda text: "" if pd.isna(text) or text.startswith("?") else f"background-color: rgba({HEAT}, 0.25)",
        subset=decided,
    )


def interval_columns(confidence: float) -> dict[str, Any]:
    """How the table's columns are shown."""
    column = st.column_config.Column
    half_of = f"Half of the {100 * confidence:g} % t-interval over training runs."
    return {
        "Ratio": column(help="Weights before / after pruning."),
        "Alpha": column(
            help="Average of the training runs. 1: gaps as before; above: wider; below: narrower or elsewhere."
        ),
        "Alpha ±": column("±", help=half_of),
        "Verdict": column(help="Intensifies or evens out if the interval of alpha excludes 1, else undecided."),
        "Control": column("Control's", help="Alpha of networks that trained as long without being pruned."),
        "Against it": column("Difference", help="Alpha minus the control's, seed by seed: what pruning itself does."),
        "Against ±": column("±", help=half_of),
        "Verdict against it": column("Verdict of it", help="The same verdict on the difference: below or above 0."),
        "All gaps": column(help="How wide all gaps together are against before, whichever classes they fall on."),
        "Since dense": column(help="Accuracy, pruned minus dense, seed by seed."),
        "Change ±": column("±", help=half_of),
        "Seeds": column("Training runs", width="small"),
    }


def show_tests(tests: pd.DataFrame, ratios: Mapping[float, str], title: str, text: str) -> None:
    """A table of p-values, a row per pair and a column per family, with what was tested and how."""
    st.markdown(title)
    made = tests[tests["p"].notna()]
    if made.empty:
        why = next(iter(tests["reason"]), "there is nothing to compare with")
        st.info(f"**No test can be made**: {why}.", icon=":material/info:")
        return
    family = "ratio" if "ratio" in tests else "series"
    st.dataframe(
        styled_p(p_table(tests, family, ratios)), alt=f"{title.replace('*', '')} p-values", placeholder=formats.MISSING
    )
    most, least = int(made["n_first"].max()), int(made["n_first"].min())
    n = formats.seeds(most) if most == least else f"{least} to {formats.seeds(most)}"
    st.caption(f"{text} {n}; {_family_sizes(made)} in a column.")


def p_table(tests: pd.DataFrame, family: str, ratios: Mapping[float, str]) -> pd.DataFrame:
    """Corrected p-values: a row per pair, first against second; a column per family (`ratio` or `series`)."""

    def name(value: object) -> str:
        return ratios[value] if isinstance(value, float) else str(value)

    pairs = [f"{name(a)} vs {name(b)}" for a, b in zip(tests["first"], tests["second"], strict=True)]
    families = tests[family].map(name)
    table = tests.assign(pair=pairs, family=families)
    order = table if family == "ratio" else table.sort_values(["first", "second"])
    wide = table.pivot(index="pair", columns="family", values="p_corrected").rename_axis(index=None, columns=None)
    return wide.loc[list(dict.fromkeys(order["pair"])), list(dict.fromkeys(families))]


def styled_p(table: pd.DataFrame) -> Styler:
    """The table with small p-values marked."""
    return table.style.format(formats.p_value).map(
        lambda p: f"background-color: rgba({HEAT}, 0.3)" if p < SIGNIFICANT else ""
    )


def point_names(points: pd.DataFrame, series: Mapping[str, Series], source: Source) -> list[str]:
    """The class of each point; one whose name is not known is called by its number."""
    names: dict[Experiment, dict[int, str]] = {}
    for experiment in {one.experiment for one in series.values()}:
        known = catalog.class_names(source, experiment)
        names[experiment] = {number: formats.chart_text(name) for number, name in known.items()}
    by_label = {label: names[one.experiment] for label, one in series.items()}
    pairs = zip(points["series"].tolist(), points["class"].tolist(), strict=True)
    return [by_label[label].get(number, str(number)) for label, number in pairs]


def panel_note(n_series: int, most: int) -> str:
    """That only the first series are drawn, where that is so."""
    return f"The first {most} of {n_series}; switch others off on the left to see them." if n_series > most else ""


def _family_sizes(made: pd.DataFrame) -> str:
    sizes = sorted(set(made["n_tests"]))
    return f"{sizes[-1]} tests" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]} tests"
