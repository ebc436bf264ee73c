"""The flags that a headline speaks of."""

import numpy as np
import pandas as pd

from engine.analysis.columns import MODEL
from engine.analysis.curves.flag_picks import by_evidence, largest_loss, sparsest_flag

FLAGS = pd.DataFrame(
    {
        **dict.fromkeys(MODEL, "x"),
        "level": [1, 2, 3],
        "sparsity": [0.2, 0.9, np.nan],
        "accuracy": 0.9,
        "dense_accuracy": 0.9,
        "n_seeds": 3,
        "grouping": "series",
        "class": [1, 2, 3],
        "group": ["a", "b", "c"],
        "class_gap_times": 1.0,
        "group_gap_times": 1.0,
        "class_n": 10,
        "group_n": 10,
        "class_change": [-0.02, -0.01, np.nan],
        "class_low": [-0.03, -0.02, np.nan],
        "class_high": [-0.01, 0.0, np.nan],
        "group_change": [-0.05, np.nan, np.nan],
        "group_low": [-0.06, np.nan, np.nan],
        "group_high": [-0.04, np.nan, np.nan],
    }
)


def test_sparsest_flag_is_that_of_the_sparsest_level() -> None:
    flag = sparsest_flag(FLAGS)
    assert flag is not None and flag["sparsity"] == 0.9
    assert sparsest_flag(FLAGS.iloc[2:]) is None


def test_largest_loss_names_its_flag_and_who_loses() -> None:
    largest = largest_loss(FLAGS)
    assert largest is not None and (largest[0].name, largest[1]) == (0, "group")
    of_class = largest_loss(FLAGS.assign(group_change=np.nan))
    assert of_class is not None and (of_class[0].name, of_class[1]) == (0, "class")
    assert largest_loss(FLAGS.assign(class_change=0.01, group_change=np.nan)) is None


def test_the_surest_loss_is_not_the_largest_one() -> None:
    noisy = FLAGS.assign(class_change=[-0.02, -0.2, np.nan], class_high=[-0.01, 0.1, np.nan], group_high=np.nan)
    surest = largest_loss(noisy)
    assert surest is not None and (surest[0].name, surest[1]) == (0, "class")


def test_models_trained_against_gaps_are_spoken_of_only_where_no_other_keeps_its_accuracy() -> None:
    flags = FLAGS.assign(mitigation=["both, reweight", "none", "none"])
    assert sparsest_flag(flags) is not None and largest_loss(flags)[0].name == 1  # type: ignore[index]
    alone = FLAGS.assign(mitigation=["both, reweight", "both, worst", "none"], level=[1, 2, np.nan])
    assert largest_loss(alone)[0].name == 0  # type: ignore[index]


def test_flags_are_sorted_by_the_loss_that_is_at_least_there() -> None:
    flags = FLAGS.assign(class_high=[-0.01, -0.06, np.nan], group_high=[-0.04, 0.1, np.nan], level=[1, 2, 3])
    assert by_evidence(flags).index.tolist() == [1, 0, 2] and by_evidence(flags)["sure"].tolist()[:2] == [0.06, 0.04]
    assert by_evidence(flags.assign(level=[1, np.nan, 3])).index.tolist() == [0, 2], (
        "who keeps no accuracy is not listed"
    )
