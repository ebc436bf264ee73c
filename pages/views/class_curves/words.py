"""Which class falls first, in words, and the tables behind the charts of the Class curves page."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from engine.analysis.curves.baseline import CONTROL, DENSE
from engine.analysis.curves.class_curves import NO_DENSE
from engine.analysis.curves.first_to_fall import DROP, N_RESAMPLES
from engine.analysis.curves.worst_classes import most_lost
from pages.shared import formats
from pages.shared.names import baseline_name, technique_name, variant_name

HALF = 0.5
"""A class that is right more often than not still works."""


def fall_sentence(curves: pd.DataFrame, fall: pd.Series | None, totals: pd.DataFrame, names: Mapping[int, str]) -> str:
    """Which class of a model loses more than 5 points first and for good, against the total; markdown.

    `dense_accuracy` is what the curves are compared with: the control's where they say `controlled`.
    """
    model = formats.plain(variant_name(curves.iloc[0]))
    if curves["dense_accuracy"].isna().all():
        return f"**Nothing can be said of {model}**: {NO_DENSE}."
    if fall is None:
        return _steady_sentence(curves, model, names)
    lost = fall["dense_accuracy"] - fall["accuracy"]
    total = totals[totals["level"] == fall["level"]].iloc[0]
    change = total["accuracy"] - total["dense_accuracy"]
    return (
        f"**Class {_name(fall['class'], names)} falls first: it loses {formats.points_in_words(lost)} at "
        f"{formats.sparsity(fall['sparsity'])} sparsity, while the total {'loses' if change < 0 else 'gains'} "
        f"{formats.points_in_words(change)}** ({model}, against {_baseline(fall)})."
    )


def fall_details(
    curves: pd.DataFrame, fall: pd.Series | None, names: Mapping[int, str], shares: pd.Series | None = None
) -> str:
    """The fallen class's accuracy with its interval, and the cautions that belong to it; markdown.

    `shares` are `first_falls` of the same model.
    """
    sentences = []
    if fall is not None:
        sentences.append(
            f"Its accuracy goes from {formats.percent(fall['dense_accuracy'])} ({_baseline(fall)}) to "
            f"{formats.percent(fall['accuracy'])} {formats.plus_minus(fall['low'], fall['high'])} "
            f"({formats.count(fall['n'])} test examples, {formats.seeds(fall['n_seeds'])}). It falls where it stays "
            f"more than {formats.points_in_words(DROP, 0)} below {_baseline(fall)} from there on."
        )
        if shares is not None and len(shares):
            sentences.append(_agreement(shares, int(fall["class"]), names))
    if curves["n_seeds"].max() == 1:
        sentences.append("One training run gives no interval: another may name another class.")
    empty = curves.groupby("class")["n"].max()
    empty = empty[empty == 0]
    if len(empty):
        listed = ", ".join(_name(number, names) for number in empty.index)
        sentences.append(f"No test examples, so no curve: class {listed}.")
    return " ".join(sentences)


def in_spotlight(curves: pd.DataFrame, fall: pd.Series | None) -> int | None:
    """The class that falls first; if none does, the one that loses most at the sparsest level."""
    row = most_lost(curves) if fall is None else fall
    return None if row is None else int(row["class"])


def lowest_class(curves: pd.DataFrame) -> int | None:
    """The class with the lowest accuracy at the sparsest level; None where none is known."""
    last = curves[(curves["level"] == curves["level"].max()).to_numpy()].dropna(subset="accuracy")
    return None if last.empty else int(last.loc[last["accuracy"].idxmin(), "class"])


def curves_title(curves: pd.DataFrame, lowest: int | None, names: Mapping[int, str]) -> str:
    """What the chart of classes shows: who is lowest in the end, and how far below the best; markdown."""
    if lowest is None:
        return "Accuracy of each class"
    last = curves[(curves["level"] == curves["level"].max()).to_numpy()]["accuracy"]
    gap = float(last.max() - last.min())
    return f"Class {_name(lowest, names)} ends lowest, {formats.points_in_words(gap)} below the best"


def curves_subtitle(curves: pd.DataFrame) -> str:
    """What is measured, and on how many."""
    n, runs = curves.groupby("class")["n"].max().sum(), formats.seeds(curves["n_seeds"].max())
    return f"Accuracy of each class as weights are cut; {formats.count(n)} test examples, {runs}."


def curves_key(spotlight: int | None, lowest: int | None, names: Mapping[int, str]) -> str:
    """What the colours mean; markdown."""
    parts = [] if spotlight is None else [f"Blue: class {_name(spotlight, names)}, in the spotlight."]
    if lowest is not None and lowest != spotlight:
        parts.append(f"Orange: class {_name(lowest, names)}, the lowest at the end.")
    return " ".join([*parts, "Grey: all others."])


def panels_title(curves: pd.DataFrame, techniques: Sequence[str]) -> str:
    """Which technique keeps its worst class up longest, of those that are drawn; markdown."""
    rows = curves[curves["technique"].isin(techniques)]
    worst = rows.groupby(["technique", "level"], observed=True).agg(low=("accuracy", "min"), cut=("sparsity", "mean"))
    fine = worst[(worst["low"] >= HALF).to_numpy()].groupby("technique", observed=True)["cut"].max()
    if fine.empty or not fine.max() > 0:
        return "The same classes under each technique"
    best = formats.plain(technique_name(str(fine.idxmax())))
    return (
        f"{best} keeps every class above {formats.percent(HALF, 0)} longest: to {formats.sparsity(fine.max())} sparsity"
    )


def panels_key(spotlight: int | None, names: Mapping[int, str]) -> str:
    """What the colours of the panels mean; markdown."""
    return "Grey: a class each." if spotlight is None else f"Blue: class {_name(spotlight, names)}. Grey: all others."


def beyond(gaps: pd.DataFrame, measure: str) -> str:
    """That what lies beyond the axis of unfairness is not drawn, where something does."""
    off = formats.in_points(measure) and gaps["unfairness"].max() > HALF
    return f" What is above {100 * HALF:.0f} points is not drawn." if off else ""


def curve_table(curves: pd.DataFrame, names: Mapping[int, str]) -> pd.DataFrame:
    """The class curves of a model for people and spreadsheets."""
    columns = ["class", "level", "sparsity", "accuracy", "low", "high", "before", "baseline", "n", "n_seeds", "seed"]
    curves = curves.rename(columns={"dense_accuracy": "before"}).assign(
        baseline=np.where(curves.get("controlled", False), CONTROL, DENSE)
    )
    table = curves[[name for name in columns if name in curves]].sort_values(["class", "level"], ignore_index=True)
    table.insert(1, "name", [names.get(int(number), str(number)) for number in table["class"]])
    return table


def technique_table(curves: pd.DataFrame) -> pd.DataFrame:
    """Curves of many models: technique, treatment, mitigation, level and the numbers."""
    first = ["technique", "treatment", "mitigation", "level", "sparsity"]
    others = ["class", "accuracy", "unfairness", "low", "high", "n_seeds"]
    table = curves[[*first, *(name for name in others if name in curves)]].astype(dict.fromkeys(first[:3], str))
    return table.sort_values(first[:4], ignore_index=True)


def _agreement(shares: pd.Series, number: int, names: Mapping[int, str]) -> str:
    """How often resampled seeds name the same class, and which other they name most."""
    text = (
        f"How sure: {formats.percent(shares.get(number, 0.0), 0)} of {N_RESAMPLES} re-draws of the runs name it first"
    )
    others = shares.drop(number, errors="ignore")
    if others.empty:
        return f"{text}."
    return f"{text}, {formats.percent(others.iloc[0], 0)} class {_name(others.index[0], names)}."


def _steady_sentence(curves: pd.DataFrame, model: str, names: Mapping[int, str]) -> str:
    sparsest = formats.sparsity(float(curves["sparsity"].max()))
    text = (
        f"**No class falls more than {formats.points_in_words(DROP, 0)} up to {sparsest} sparsity** ({model}, against "
        f"{_baseline(curves.loc[curves['level'].idxmax()])})."
    )
    most = most_lost(curves)
    if most is None:
        return text
    change = float(most["accuracy"] - most["dense_accuracy"])
    verb = "loses most there" if change < 0 else "gains least there"
    return f"{text} Class {_name(most['class'], names)} {verb}: {formats.points_in_words(change)}."


def _baseline(row: pd.Series) -> str:
    return baseline_name(CONTROL if row.get("controlled", False) else DENSE)


def _name(number: float, names: Mapping[int, str]) -> str:
    return formats.plain(names.get(int(number), str(int(number))))
