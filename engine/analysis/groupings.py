"""To which group does each example belong, and how unequally do models treat the groups: columns, alone or crossed.

The measures are those of `unfairness`; groups too small to say anything are left out and named.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from engine.analysis.binary_rates import FOUND, POSITIVES, binary_measures
from engine.analysis.columns import CLASS, MODEL
from engine.analysis.unfairness import measured

Ints = NDArray[np.intp]

CROSSED = " x "
"""What stands between the names of columns that are crossed, and between those of their groups."""
LEAST = 20
"""Examples that a group has at least, unless another number is asked for."""
NO_VALUE = "no value"
LEFT_OUT = ("group", "n", "reason")


@dataclass(frozen=True, eq=False)
class Grouping:
    """Examples parted by the values of a column, or of several that are crossed."""

    name: str
    """The columns, such as "region" or "region x class"."""
    groups: tuple[str, ...]
    """Names of the groups that are large enough."""
    code: Ints
    """Place of each example's group among them, -1 where it belongs to none."""
    n: Ints
    """Examples of each group."""
    left_out: pd.DataFrame
    """One row per group that is too small, and one for the examples without a value: group, n, reason."""


def grouping_of(
    examples: pd.DataFrame,
    columns: str | Sequence[str],
    least: int = LEAST,
    class_names: Sequence[str] | None = None,
) -> Grouping:
    """The examples by these columns of theirs (CLASS is the label); groups below `least` examples are left out."""
    wanted = (columns,) if isinstance(columns, str) else tuple(columns)
    code, names = np.zeros(len(examples), np.intp), [""]
    for place, column in enumerate(wanted):
        more, texts = _factorised(examples["label" if column == CLASS else column])
        if column == CLASS and class_names is not None:
            texts = [class_names[int(text)] for text in texts]
        both = np.where((code >= 0) & (more >= 0), code * max(len(texts), 1) + more, -1)
        crossed, inverse = np.unique(both, return_inverse=True)
        whole = crossed[crossed >= 0]
        code = inverse - (len(crossed) - len(whole))  # the examples without a value come first, as -1
        names = [
            CROSSED.join([names[cell // len(texts)]] * (place > 0) + [texts[cell % len(texts)]])
            for cell in whole.tolist()
        ]
    return _large_enough(CROSSED.join(wanted), code, names, least)


def group_rows(
    models: pd.DataFrame, right: NDArray[np.bool_], grouping: Grouping, positive: NDArray[np.bool_] | None = None
) -> pd.DataFrame:
    """One row per row of `models` (its columns come first) and group: place, group, n, correct.

    `right` is (n_models, n_examples), in the order of both. `positive` says of a binary target which examples are of
    the positive class; then the rows have `positives` and `found` too, how many a group has and how many are found.
    """
    n_groups = len(grouping.groups)
    repeated = models.iloc[np.repeat(np.arange(len(models)), n_groups)].reset_index(drop=True)
    if positive is not None:
        there = correct_counts(positive[None], grouping)[0]
        found = correct_counts(right & positive, grouping)
        repeated = repeated.assign(**{POSITIVES: np.tile(there, len(models)), FOUND: found.ravel()})
    return repeated.assign(
        place=np.tile(np.arange(n_groups), len(models)),
        group=np.tile(np.array(grouping.groups, object), len(models)),
        n=np.tile(grouping.n, len(models)),
        correct=correct_counts(right, grouping).ravel(),
    )


def correct_counts(right: NDArray[np.bool_], grouping: Grouping) -> Ints:
    """How many examples of each group each model gets right, (n_models, n_groups)."""
    member = np.flatnonzero(grouping.code >= 0)
    code, n_groups = grouping.code[member], len(grouping.groups)
    counts = [np.bincount(code[row[member]], minlength=n_groups) for row in right]
    return np.array(counts, np.intp).reshape(len(right), n_groups)


def group_unfairness_table(
    levels: pd.DataFrame, rows: pd.DataFrame, measures: Sequence[str] | None = None
) -> pd.DataFrame:
    """`unfairness_table` between groups, in the same columns, one row per model of `levels`; n_classes counts groups.

    `rows` are `group_rows` with run and level; a model without any has NaN. Measures of losses are NaN: those of groups
    are not recorded. Those of `binary_rates` are there where the rows count the positive class.
    """
    table = measured(rows.rename(columns={"place": CLASS}).assign(loss=np.nan), ["run", "level"], measures)
    identity = levels[["run", *MODEL, "seed", "level", "sparsity"]].reset_index(drop=True)
    if POSITIVES in rows:
        table = table.merge(binary_measures(rows), on=["run", "level"])
    merged = identity.merge(table, on=["run", "level"], how="left")
    has_dense = merged["has_dense"].eq(True) | merged["n_classes"].isna() & merged["run"].isin(
        set(levels.loc[levels["level"] == 0, "run"])
    )
    return merged.assign(n_classes=merged["n_classes"].fillna(0).astype(int), has_dense=has_dense)


def _factorised(column: pd.Series) -> tuple[Ints, list[str]]:
    """Place of each row's value among the distinct ones, -1 if it has none, and their texts; numbers by size."""
    code, distinct = pd.factorize(column)
    values = np.asarray(distinct)
    texts = np.array([str(value) for value in values], object)
    order = np.argsort(values if pd.api.types.is_numeric_dtype(values.dtype) else texts, kind="stable")
    rank = np.empty(len(order) + 1, np.intp)
    rank[order], rank[-1] = np.arange(len(order)), -1
    return rank[code], texts[order].tolist()


def _large_enough(name: str, code: Ints, names: Sequence[str], least: int) -> Grouping:
    n = np.bincount(code[code >= 0], minlength=len(names))
    large = n >= max(least, 1)
    place = np.append(np.where(large, np.cumsum(large) - 1, -1), -1)
    small = [(names[k], int(n[k]), f"fewer than {least} examples") for k in np.flatnonzero(~large).tolist()]
    missing = int((code < 0).sum())
    rest = [(NO_VALUE, missing, f"no value of {name}")] if missing else []
    return Grouping(
        name=name,
        groups=tuple(names[k] for k in np.flatnonzero(large).tolist()),
        code=place[code],
        n=n[large],
        left_out=pd.DataFrame([*small, *rest], columns=list(LEFT_OUT)),
    )
