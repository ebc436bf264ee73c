"""Which class falls first, in words, and the tables behind the charts of the Class curves page."""

from collections.abc import Mapping

import pandas as pd

from engine.analysis.curves import NO_DENSE, first_to_fall
from engine.analysis.identity import MODEL
from pages.shared import formats

DROP = 0.05
"""Loss since dense at which a class counts as fallen."""


def fallen_for_good(curves: pd.DataFrame, drop: float = DROP) -> pd.DataFrame:
    """The rows of `class_curves` from which on, at every sparser level too, a class loses more than `drop`.

    A class that dips and recovers, as happens by chance with few seeds, has none.
    """
    rows = curves.sort_values("level", ascending=False)
    lost = rows["dense_accuracy"] - rows["accuracy"] > drop
    stays = lost.groupby([rows[name] for name in (*MODEL, "class")], observed=True).cummin()
    return curves[stays.reindex(curves.index)]


def fall_sentence(curves: pd.DataFrame, totals: pd.DataFrame, names: Mapping[int, str]) -> str:
    """Which class of a model loses more than 5 points first and for good, against the total; markdown."""
    model = formats.plain(formats.model(curves.iloc[0]))
    reason = first_to_fall(curves, DROP).reason
    if reason == NO_DENSE:
        return f"**Nothing can be said of {model}**: {reason}."
    fallen = _first_row(curves)
    if fallen is None:
        return _steady_sentence(curves, model, names)
    lost = fallen["dense_accuracy"] - fallen["accuracy"]
    there = totals[totals["level"] == fallen["level"]].iloc[0]
    change = there["accuracy"] - there["dense_accuracy"]
    return (
        f"**Under {model}, class {_name(fallen['class'], names)} falls first: at {formats.sparsity(fallen['sparsity'])}"
        f" sparsity it loses {formats.points_in_words(lost)}, while the total "
        f"{'loses' if change < 0 else 'gains'} {formats.points_in_words(change)}.**"
    )


def fall_details(curves: pd.DataFrame, names: Mapping[int, str]) -> str:
    """The fallen class's accuracy with its interval, and the cautions that belong to it; markdown."""
    fallen = _first_row(curves)
    sentences = []
    if fallen is not None:
        sentences.append(
            f"Its accuracy goes from {formats.percent(fallen['dense_accuracy'])} to "
            f"{formats.percent(fallen['accuracy'])} {formats.plus_minus(fallen['low'], fallen['high'])} "
            f"(n {formats.count(fallen['n'])}, {formats.seeds(fallen['n_seeds'])}). Fallen means: more than "
            f"{formats.points_in_words(DROP, 0)} below the dense network at this and every sparser level."
        )
    if curves["n_seeds"].max() == 1:
        sentences.append("One seed gives no interval: another seed may name another class.")
    empty = curves.groupby("class")["n"].max()
    empty = empty[empty == 0]
    if len(empty):
        listed = ", ".join(_name(number, names) for number in empty.index)
        sentences.append(f"No test examples, so no curve: class {listed}.")
    return " ".join(sentences)


def in_spotlight(curves: pd.DataFrame) -> int | None:
    """The class that falls first; if none does, the one that loses most at the sparsest level."""
    row = _first_row(curves)
    row = _most_lost(curves) if row is None else row
    return None if row is None else int(row["class"])


def curve_table(curves: pd.DataFrame, names: Mapping[int, str]) -> pd.DataFrame:
    """The class curves of a model for people and spreadsheets."""
    columns = ["class", "level", "sparsity", "accuracy", "low", "high", "dense_accuracy", "n", "n_seeds", "seed"]
    table = curves[[name for name in columns if name in curves]].sort_values(["class", "level"], ignore_index=True)
    table.insert(1, "name", [names.get(int(number), str(number)) for number in table["class"]])
    return table


def technique_table(curves: pd.DataFrame) -> pd.DataFrame:
    """Curves of many models: technique, treatment, mitigation, level and the numbers."""
    first = ["technique", "treatment", "mitigation", "level", "sparsity"]
    others = ["class", "accuracy", "unfairness", "low", "high", "n_seeds"]
    table = curves[[*first, *(name for name in others if name in curves)]].astype(dict.fromkeys(first[:3], str))
    return table.sort_values(first[:4], ignore_index=True)


def _steady_sentence(curves: pd.DataFrame, model: str, names: Mapping[int, str]) -> str:
    sparsest = formats.sparsity(float(curves["sparsity"].max()))
    text = (
        f"**Under {model}, no class stays more than {formats.points_in_words(DROP, 0)} below dense up to {sparsest}.**"
    )
    most = _most_lost(curves)
    if most is None:
        return text
    change = float(most["accuracy"] - most["dense_accuracy"])
    verb = "loses most there" if change < 0 else "gains least there"
    return f"{text} Class {_name(most['class'], names)} {verb}: {formats.points_in_words(change)}."


def _first_row(curves: pd.DataFrame) -> pd.Series | None:
    """The row at which the first class falls for good."""
    fallen = fallen_for_good(curves)
    first = first_to_fall(fallen, DROP)
    if first.name is None:
        return None
    return fallen[(fallen["class"] == first.name) & (fallen["level"] == first.level)].iloc[0]


def _most_lost(curves: pd.DataFrame) -> pd.Series | None:
    """The row of the class that loses most at the sparsest level."""
    last = curves[curves["level"] == curves["level"].max()]
    change = (last["accuracy"] - last["dense_accuracy"]).dropna()
    return None if change.empty else last.loc[change.idxmin()]


def _name(number: float, names: Mapping[int, str]) -> str:
    return formats.plain(names.get(int(number), str(int(number))))
