"""Which class falls first, in words, and the tables behind the charts of the Class curves page."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from engine.analysis.curves.baseline import CONTROL, DENSE
from engine.analysis.curves.class_curves import NO_DENSE
from engine.analysis.curves.first_to_fall import DROP, N_RESAMPLES
from engine.analysis.curves.worst_classes import most_lost
from pages.shared import formats
from pages.shared.names import baseline_name, variant_name


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
        f"**Under {model}, class {_name(fall['class'], names)} falls first: at {formats.sparsity(fall['sparsity'])} "
        f"sparsity it loses {formats.points_in_words(lost)} against {_baseline(fall)}; the total "
        f"{'loses' if change < 0 else 'gains'} {formats.points_in_words(change)}.**"
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
            f"(n {formats.count(fall['n'])}, {formats.seeds(fall['n_seeds'])}). Falling means: more than "
            f"{formats.points_in_words(DROP, 0)} below {_baseline(fall)} from there on."
        )
        if shares is not None and len(shares):
            sentences.append(_agreement(shares, int(fall["class"]), names))
    if curves["n_seeds"].max() == 1:
        sentences.append("One seed gives no interval: another seed may name another class.")
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
        f"**Under {model}, no class stays more than {formats.points_in_words(DROP, 0)} below "
        f"{_baseline(curves.loc[curves['level'].idxmax()])} up to {sparsest}.**"
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
