"""Who loses most: accuracy of each member of a grouping (a writer, say) before and after pruning.

Works for any grouping with many members; lines through members and how their slopes change are in `slopes`.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from engine.analysis.intervals import wilson_interval

NOBODY = "no member has an accuracy before and after"
ROUNDING = 1e-9
"""Changes this near are equal: a loss of exactly the limit counts, whatever the order of summing."""


@dataclass(frozen=True)
class MemberFacts:
    """What a sentence about the members says; the worst member is None if there is none (see `reason`)."""

    n_members: int
    loss: float
    n_losing: int
    """Members that lose at least `loss` more than the mean member."""
    mean_before: float = np.nan
    mean_after: float = np.nan
    """Accuracies of the mean member: every member counts alike, however many examples it has."""
    worst: str | None = None
    worst_n: int | None = None
    worst_before: float | None = None
    worst_after: float | None = None
    reason: str = ""


def member_accuracy(
    examples: pd.DataFrame,
    before: NDArray[np.integer],
    after: NDArray[np.integer],
    member: str,
    minimum: int = 1,
) -> pd.DataFrame:
    """One row per member with at least `minimum` examples: member, groups that it lies in, n, before, before_low,
    before_high, after, after_low, after_high, change, mean of each attribute.

    `before` and `after` are predictions (n_examples,) or (n_seeds, n_examples); accuracies are means over seeds. The
    intervals are Wilson's, 95 %, for the member's n examples however many seeds there are, since seeds see the same
    examples. Attributes are the float columns of `examples`; a group is any other column that is constant per member.
    """
    code, names = pd.factorize(examples[member], sort=True)
    rows = np.flatnonzero(code >= 0)
    code = code[rows]
    n = np.bincount(code, minlength=len(names))
    label = examples["label"].to_numpy()
    table = pd.DataFrame({member: names, **_nesting(examples.iloc[rows], code, member), "n": n})
    for moment, predictions in (("before", before), ("after", after)):
        right = (np.atleast_2d(predictions) == label).mean(axis=0)
        correct = np.bincount(code, right[rows], minlength=len(names))
        table[moment] = correct / n
        table[f"{moment}_low"], table[f"{moment}_high"] = wilson_interval(correct, n)
    table["change"] = table["after"] - table["before"]
    attributes = examples.iloc[rows].select_dtypes("floating").drop(columns=member, errors="ignore")
    table = table.join(attributes.groupby(code).mean())
    return table[table["n"] >= minimum].reset_index(drop=True)


def hit_hardest(table: pd.DataFrame, k: int = 10) -> pd.DataFrame:
    """The k members that lose most; at a tie, the one with more examples first."""
    return table.dropna(subset="change").sort_values(["change", "n"], ascending=[True, False]).head(k)


def member_facts(table: pd.DataFrame, loss: float = 0.05) -> MemberFacts:
    """Facts about the table of `member_accuracy`."""
    worst = hit_hardest(table, 1)
    if worst.empty:
        return MemberFacts(len(table), loss, 0, reason=NOBODY)
    row = worst.iloc[0]
    return MemberFacts(
        n_members=len(table),
        loss=loss,
        n_losing=int(n_losing(table["change"].dropna().to_numpy(float), loss)),
        mean_before=float(table["before"].mean()),
        mean_after=float(table["after"].mean()),
        worst=str(row.iloc[0]),
        worst_n=int(row["n"]),
        worst_before=float(row["before"]),
        worst_after=float(row["after"]),
    )


def n_losing(changes: NDArray[np.floating], loss: float) -> NDArray[np.intp]:
    """How many members lose at least `loss` more than the mean member; members are the last axis.

    Against the mean, because where all lose, a count of those who lose says nothing about who pays.
    """
    mean = changes.mean(axis=-1, keepdims=True)
    counts: NDArray[np.intp] = (changes - mean <= -loss + ROUNDING).sum(axis=-1)
    return counts


def nesting_columns(members: pd.DataFrame, most: int = 9) -> list[str]:
    """Columns of `member_accuracy` that part the members into 2 to `most` groups, such as series."""
    between = members.columns[1 : members.columns.get_loc("n")]
    return [str(name) for name in between if 2 <= members[name].nunique() <= most]


def _nesting(examples: pd.DataFrame, code: NDArray[np.intp], member: str) -> dict[str, NDArray[np.object_]]:
    """Values of the columns, attributes and labels apart, that have one value per member."""
    others = examples.drop(columns=["example", "example_id", "label", member], errors="ignore").select_dtypes(
        exclude="floating"
    )
    numbers = {column: pd.factorize(values)[0] for column, values in others.items()}
    first = np.unique(code, return_index=True)[1]
    return {
        column: others[column].iloc[first].to_numpy(object)
        for column, number in numbers.items()
        if np.array_equal(number, number[first][code])
    }
