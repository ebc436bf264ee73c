"""Which class does a model serve worst, and which loses most by the end?"""

import pandas as pd


def worst_classes(class_means: pd.DataFrame) -> pd.DataFrame:
    """The row of the class with the lowest accuracy at each operating point, sorted by `point`; classes without an
    accuracy do not count."""
    rated = class_means.dropna(subset="accuracy")
    return rated.loc[rated.groupby("point")["accuracy"].idxmin()].reset_index(drop=True)


def most_lost(curves: pd.DataFrame) -> pd.Series | None:
    """The row of the class that loses most since dense at the sparsest level of one model; None where none is rated."""
    last = curves[curves["level"] == curves["level"].max()]
    change = (last["accuracy"] - last["dense_accuracy"]).dropna()
    return None if change.empty else last.loc[change.idxmin()]
