"""Columns of examples: few groups, many members, attributes."""

import numpy as np
import pandas as pd

from engine.analysis.columns import is_mitigated
from engine.analysis.example_columns import attribute_columns, example_ids, group_columns, member_columns

N = 300
EXAMPLES = pd.DataFrame(
    {
        "example": range(N),
        "label": np.arange(N) % 20,
        "writer": np.arange(N) % 50,
        "few": np.arange(N) % 3,
        "visit": np.arange(N) % 12,
        "each": np.arange(N),
        "one": "same",
        "tilt": np.linspace(0, 1, N),
    }
)


def test_members_are_many_with_five_examples_each_most_first() -> None:
    assert member_columns(EXAMPLES) == ["writer", "visit"]


def test_groups_are_two_to_twenty_and_neither_label_nor_number() -> None:
    assert group_columns(EXAMPLES) == ["few", "visit"]
    assert group_columns(EXAMPLES[["example", "label"]]) == []


def test_the_users_own_ids_are_names_not_groups() -> None:
    few = EXAMPLES.head(12).assign(example_id=[f"img{number}" for number in range(12)])
    assert group_columns(few[["example", "example_id", "label"]]) == []
    assert example_ids(few)[3] == "img3" and example_ids(EXAMPLES)[3] == "3"


def test_attributes_are_floats_that_differ_absolute_tilt_first() -> None:
    assert attribute_columns(EXAMPLES.assign(abs_tilt=EXAMPLES["tilt"], flat=1.0)) == ["abs_tilt", "tilt"]


def test_no_mitigation_is_none_or_empty() -> None:
    assert [is_mitigated(name) for name in ("none", "", "after", "both, by series")] == [False, False, True, True]
