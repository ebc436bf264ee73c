"""Who pays for the chosen network: the group that loses most, under whatever grouping there is."""

import pandas as pd

from pages.shared import formats
from pages.shared.cache.between import Between
from pages.shared.names import baseline_name, group_in_words, verb_for
from pages.views.frontier.words import between_name

HELD = {
    "pulled": "when pulled towards the mean of all",
    "together": "(95 %, for all groups at once)",
    "seeds": "over seeds",
}
"""What an interval of `payers` is."""


def payer_sentence(table: pd.DataFrame) -> str:
    """Who loses most, how much, and who does under each other grouping; markdown, empty where nobody is known."""
    if table.empty:
        return ""
    worst = table.iloc[0]
    if worst["change"] >= 0:
        return f"**Nobody pays**: no class or group loses against {baseline_name(worst['kind'])}."
    text = (
        f"**Who pays most: {_named(worst)}**, from {formats.percent(worst['before'])} "
        f"({baseline_name(worst['kind'])}) to {formats.percent(worst['accuracy'])}{_interval(worst)}, "
        f"{formats.count(worst['n'])} test examples."
    )
    others = [_change(row) for _, row in table.iloc[1:].iterrows()]
    return f"{text} By other groupings: {'; '.join(others)}." if others else text


def warning_sentence(table: pd.DataFrame, between: Between, limit: float) -> str:
    """Whom the choice does not look at and who loses more than the limit; markdown, empty where there is nobody."""
    hit = table[(table["change"] < -limit - 1e-9) & (table["columns"] != between.columns)]
    if hit.empty:
        return ""
    names = [
        f"**{_named(row)}** {_verb(row, 'lose')} {formats.points_in_words(row['change'])}" for _, row in hit.iterrows()
    ]
    return (
        f"{'; '.join(names)}: more than {formats.points_in_words(limit)}, and the choice does not look at it. "
        f"It is fair between {formats.plain(between_name(between.columns).lower())} only."
    )


def _change(row: pd.Series) -> str:
    """What the group that loses most of a grouping loses: "students (hsf4) lose 2.0 pt"."""
    way = _verb(row, "lose" if row["change"] < 0 else "gain")
    return f"{_named(row)} {way} {formats.points(abs(row['change']), sign=False)}"


def _named(row: pd.Series) -> str:
    """A group as people say it, with its grouping where it needs one: "students (hsf4)", "region rural", "class 8"."""
    return formats.plain(group_in_words(" x ".join(row["columns"]), row["name"]))


def _verb(row: pd.Series, verb: str) -> str:
    return verb_for(" x ".join(row["columns"]), row["name"], verb)


def _interval(row: pd.Series) -> str:
    """What is known of it: of the loss for all groups at once, since the worst of them was picked after looking."""
    half = formats.plus_minus(row["low"], row["high"])
    return f" {half} {HELD[row['held']]}" if half else ""
