"""Red flags in words and as a table: what the Overview says of the sparsest networks that keep their accuracy."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import streamlit as st
from pandas.io.formats.style import Styler

from engine.analysis.overview import headline
from pages.shared import formats
from pages.shared.load import Experiment

WITHIN = 0.01
"""How much accuracy may be lost for it to count as kept; `red_flags` takes the same."""

HEAT = "213, 94, 0"
"""Colour of a loss in the table, as red, green, blue."""


def experiment_name(experiment: Experiment) -> str:
    """An experiment's network and data set, as in "LeNet on QMNIST"."""
    return (
        f"{formats.plain(formats.network(experiment.network))} on {formats.plain(formats.dataset(experiment.dataset))}"
    )


def headline_sentence(flags: pd.DataFrame, experiment: Experiment, names: Mapping[int, str]) -> str:
    """How much the sparsest model that keeps the accuracy leaves out, and who loses there."""
    name = experiment_name(experiment)
    if flags["sparsity"].isna().all():
        return f"**No pruned {name} stays within 1 point of the dense network's accuracy.**"
    flag = flags.loc[flags["sparsity"].idxmax()]
    losses = [loss for kind in ("class", "group") if (loss := _loss(flag, kind, names))]
    end = f"but {' and '.join(losses)}" if losses else "and no class loses"
    return f"**{name} can lose {formats.sparsity(flag['sparsity'])} of its weights within 1 point of accuracy, {end}.**"


def detail_sentences(flags: pd.DataFrame, names: Mapping[int, str]) -> str:
    """Which model the headline speaks of, and the largest loss of all where that is another one's."""
    if flags["sparsity"].isna().all():
        return "Either the first cut is too deep, or the training after it is too short."
    flag = flags.loc[flags["sparsity"].idxmax()]
    mean = f"level {flag['level']}, mean of {formats.seeds(flag['n_seeds'])}"
    text = (
        f"That is {formats.plain(formats.model(flag))}, {mean}: "
        f"accuracy {formats.percent(flag['dense_accuracy'])} before, {formats.percent(flag['accuracy'])} after."
    )
    most = headline(flags)
    worst = flags[(flags[["class_change", "group_change"]] == most.change).any(axis=1)]
    if len(worst) and worst.index[0] != flag.name:
        other = worst.iloc[0]
        loss = _loss(other, "class" if other["class_change"] == most.change else "group", names)
        text += (
            f" The largest loss behind a steady accuracy: with {formats.plain(formats.model(other))} at "
            f"{formats.sparsity(other['sparsity'])} sparsity, {loss}."
        )
    return text


def cautions(flags: pd.DataFrame, n_classes: int) -> str:
    """What a reader of the losses should know before believing them."""
    known = flags.dropna(subset="level")
    texts = [f"The worst of {n_classes} classes is picked after looking, so chance makes its loss look larger."]
    if (known["n_seeds"] > 1).any():
        texts.insert(0, "± is half of a 95 % interval over seeds; where it is larger than the loss, it may be chance.")
    single = int((known["n_seeds"] == 1).sum())
    if single:
        rows = (
            "all rows have"
            if single == len(known)
            else f"{single} of {len(known)} rows {'have' if single > 1 else 'has'}"
        )
        texts.insert(0, f"{rows[0].upper()}{rows[1:]} one seed only, which gives no interval.")
    return " ".join(texts)


def left_out(flags: pd.DataFrame) -> list[str]:
    """A sentence for each model that no level of keeps the accuracy."""
    missing = flags[flags["level"].isna()]
    return [f"{formats.plain(formats.model(flag))}: {formats.plain(flag['reason'])}." for _, flag in missing.iterrows()]


def flag_table(flags: pd.DataFrame, names: Mapping[int, str]) -> pd.DataFrame:
    """One row per model that keeps its accuracy, the largest loss of a class first; numbers stay numbers."""
    rows = flags.dropna(subset="level").sort_values("class_change", kind="stable")
    groups = [
        "" if pd.isna(name) else f"{grouping} {name}"
        for grouping, name in zip(rows["grouping"], rows["group"], strict=True)
    ]
    table = {
        "Technique": [_named(flag) for _, flag in rows.iterrows()],
        "Treatment": [formats.treatment(str(name)) for name in rows["treatment"]],
        "Sparsest": rows["sparsity"].to_numpy(float),
        "Worst class": ["" if pd.isna(number) else names.get(int(number), str(number)) for number in rows["class"]],
        "Class change": rows["class_change"].to_numpy(float),
        "Class ±": ((rows["class_high"] - rows["class_low"]) / 2).to_numpy(float),
        "Worst group": groups,
        "Group change": rows["group_change"].to_numpy(float),
        "Group ±": ((rows["group_high"] - rows["group_low"]) / 2).to_numpy(float),
        "Class gap": rows["class_gap_times"].to_numpy(float),
        "Seeds": rows["n_seeds"].to_numpy(int),
    }
    if rows["group_change"].isna().all():
        table = {name: values for name, values in table.items() if "roup" not in name}
    return pd.DataFrame(table)


def styled_flags(table: pd.DataFrame) -> Styler:
    """The table with our formats, and heat where somebody loses."""
    written: dict[str, Callable[[float], str]] = {
        "Sparsest": formats.sparsity,
        "Class change": formats.points,
        "Class ±": _half,
        "Group change": formats.points,
        "Group ±": _half,
        "Class gap": lambda value: formats.MISSING if pd.isna(value) else f"{value:.2f} ×",
    }
    changes = [name for name in ("Class change", "Group change") if name in table]
    losses = -table[changes].to_numpy(float)
    largest = max(float(losses[losses > 0].max(initial=0)), WITHIN)
    return table.style.format({name: text for name, text in written.items() if name in table}).map(
        lambda change: f"background-color: rgba({HEAT}, {0.5 * -change / largest:.2f})" if change < 0 else "", changes
    )


def flag_columns() -> dict[str, Any]:
    """How the table's columns are shown."""
    column = st.column_config.Column
    half = "Half of the 95 % interval of the change over seeds; none with one seed."
    return {
        "Sparsest": column(
            "Sparsest within 1 pt", help="Share of weights cut at the sparsest level that keeps accuracy."
        ),
        "Worst class": column(help="The class that loses most since dense."),
        "Class change": column("Its change", help="Accuracy of that class, pruned minus dense, in points."),
        "Class ±": column("±", help=half),
        "Worst group": column(help="The group of examples that loses most since dense."),
        "Group change": column("Its change", help="Accuracy of that group, pruned minus dense, in points."),
        "Group ±": column("±", help=half),
        "Class gap": column(
            "Gap grows", help="Best minus worst class accuracy: how many times the dense network's gap."
        ),
        "Seeds": column(width="small"),
    }


def _half(value: float) -> str:
    return formats.MISSING if pd.isna(value) else f"± {100 * value:.1f}"


def _named(flag: pd.Series) -> str:
    extra = "" if flag["mitigation"] in ("none", "") else f", {flag['mitigation']}"
    return formats.technique(str(flag["technique"])) + extra


def _loss(flag: pd.Series, kind: str, names: Mapping[int, str]) -> str:
    """Who loses how much, as in "class 8 loses 4.1 points (± 1.2)"; empty where nobody does."""
    change = flag[f"{kind}_change"]
    if pd.isna(change) or change >= 0:
        return ""
    if kind == "class":
        who = f"class {formats.plain(names.get(int(flag['class']), flag['class']))}"
    else:
        who = f"{formats.plain(flag['grouping'])} {formats.plain(flag['group'])}"
    doubt = formats.plus_minus(flag[f"{kind}_low"], flag[f"{kind}_high"]) or "one seed"
    if flag[f"{kind}_high"] >= 0:
        doubt += ", may be chance"
    return f"{who} loses {formats.points_in_words(change)} ({doubt})"
