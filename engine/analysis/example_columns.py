"""What do the columns of an example table mean: few groups, many members, or an attribute?"""

import pandas as pd

FEW_GROUPS = 20
"""A column with more values than this parts examples into members, not into groups."""

MANY_MEMBERS = 10
"""A column with fewer values has no members worth drawing."""


def example_ids(examples: pd.DataFrame) -> pd.Series:
    """What the user calls each example; where the data have no such names, its number."""
    return examples.get("example_id", examples["example"]).astype(str)


def group_columns(examples: pd.DataFrame) -> list[str]:
    """Columns that part the examples into a few groups."""
    others = _names(examples)
    return [str(name) for name in others if 1 < others[name].nunique() <= FEW_GROUPS]


def member_columns(examples: pd.DataFrame) -> list[str]:
    """Columns with many members, five examples each on average at least; the one with most members first."""
    others = _names(examples)
    n_members = {str(name): int(others[name].nunique()) for name in others}
    fitting = [name for name, n in n_members.items() if MANY_MEMBERS <= n <= len(examples) / 5]
    return sorted(fitting, key=lambda name: -n_members[name])


def attribute_columns(examples: pd.DataFrame) -> list[str]:
    """Float columns with more than one value; |tilt| first where there is one."""
    floats = examples.select_dtypes("floating")
    names = [str(name) for name in floats if floats[name].nunique() > 1]
    return sorted(names, key=lambda name: name != "abs_tilt")


def _names(examples: pd.DataFrame) -> pd.DataFrame:
    return examples.drop(columns=["example", "example_id", "label"], errors="ignore").select_dtypes(exclude="floating")
