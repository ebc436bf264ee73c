"""The class served worst at each point, and the one that loses most."""

import numpy as np
import pandas as pd

from engine.analysis.curves.worst_classes import most_lost, worst_classes


def test_worst_class_of_each_point_leaves_out_the_unrated() -> None:
    means = pd.DataFrame(
        {"point": [1, 1, 0, 0, 2], "class": [0, 1, 0, 1, 0], "accuracy": [0.9, 0.8, 0.3, np.nan, np.nan]}
    )
    rows = worst_classes(means)
    assert rows[["point", "class"]].to_numpy().tolist() == [[0, 0], [1, 1]]


def test_most_lost_looks_at_the_sparsest_level() -> None:
    curves = pd.DataFrame(
        {
            "class": [0, 1, 0, 1],
            "level": [1, 1, 2, 2],
            "accuracy": [0.1, 0.9, 0.8, 0.7],
            "dense_accuracy": [0.9, 0.9, 0.9, 0.9],
        }
    )
    row = most_lost(curves)
    assert row is not None and row["class"] == 1 and row["level"] == 2
    assert most_lost(curves.assign(dense_accuracy=np.nan)) is None
