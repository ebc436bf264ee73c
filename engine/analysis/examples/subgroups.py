"""Whose errors grow: error, false-positive and false-negative rates of groups and intersections, before and after.

Hooker et al. 2020, Tables 3 to 5. Intervals and tests cover new seeds and new examples at once, or new members, as
writers are, where the examples name them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from engine.analysis.intervals import wilson_interval
from engine.analysis.uncertainty.clusters import (
    cluster_codes,
    clustered_contrasts,
    clustered_rates,
    clustered_shares,
    layout,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.integer]

RATES: Mapping[str, str] = {"error": "Error", "fpr": "False-positive rate", "fnr": "False-negative rate"}
SMALL = 30
"""Below this many examples a rate is marked as shaky."""

JOIN = " × "
ALL = "all"
COLUMNS = (
    *("grouping", "group", "rate", "n", "small", "before", "before_low", "before_high"),
    *("compressed", "compressed_low", "compressed_high", "change", "low", "high", "normalised"),
    *("against_rest", "p", "p_corrected", "test", "reach", "can_reject", "n_models", "n_clusters"),
)
ALPHA = 0.05
"""Level of the tests, all those of a rate together."""


@dataclass(frozen=True, eq=False)
class Case:
    """What is looked at: each network's mistake on each example, and which examples the rate is about."""

    wrong: dict[str, NDArray[np.bool_]]
    """"before" and "compressed", each (n_models, n_examples)."""
    counted: NDArray[np.bool_]


def subgroup_table(
    examples: pd.DataFrame, baseline: Ints, compressed: Ints, columns: Sequence[str], positive: int | None = None
) -> pd.DataFrame:
    """One row per rate and group - all examples, each group of each column, each intersection of columns: COLUMNS.

    Without `positive` the only rate is the error over all classes. With it, that class stands against the rest, and
    error, false-positive rate (among the others) and false-negative rate (among the class) are those of this decision.
    `baseline` and `compressed` are (n_models, n_examples), network by network from the same seed; rates are means over
    networks, with Wilson's 95 % interval for the n examples that the rate is about, or for as many independent ones as
    vary like the members that they come from. `before` is the baseline's rate, `change` = compressed - before,
    `normalised` = change / before in percent, NaN where before is 0. `against_rest` is the group's change less that of
    everybody else, `p` the test that this is 0, `p_corrected` the same by Holm over all tests of the rate. Groups that
    part the examples alike, as two complements do, are one `test` and bear its number. `reach` is the least difference
    that the test tells from chance at 5 % over all tests; `can_reject` is False where that is more than rates between 0
    and 1 allow, or unknown.

    Both use `clustered_rates` and `clustered_contrasts` with the `n_clusters` members (else examples) of a group. With
    one network they speak of these two networks only. NaN where a side has fewer than two, or no spread at all.
    """
    cases = rate_cases(examples["label"].to_numpy(), baseline, compressed, positive)
    cluster = cluster_codes(examples)
    parts = [
        _rows(case, *group_codes(examples, names), cluster) for names in groupings(columns) for case in cases.values()
    ]
    keys = [(JOIN.join(names) or ALL, rate) for names in groupings(columns) for rate in cases]
    table = pd.concat(
        [part.assign(grouping=name, rate=rate) for part, (name, rate) in zip(parts, keys, strict=True)],
        ignore_index=True,
    )
    table = pd.concat([_corrected(rows) for _, rows in table.groupby("rate", sort=False)]).sort_index()
    return table.assign(n_models=len(np.atleast_2d(baseline)))[list(COLUMNS)]


def groupings(columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Every set of the columns, the empty one first."""
    return [names for size in range(len(columns) + 1) for names in combinations(columns, size)]


def group_codes(examples: pd.DataFrame, names: Sequence[str]) -> tuple[Ints, list[str]]:
    """The group of each example (-1 for none) and the groups' names; for no names, one group of all."""
    if not names:
        return np.zeros(len(examples), np.intp), [ALL]
    code, found = np.zeros(len(examples), np.intp), [""]
    for name in names:
        own, values = pd.factorize(examples[name], sort=True)
        words = [str(value) for value in np.asarray(values)]
        code = np.where((code < 0) | (own < 0), -1, code * len(words) + own)
        found = [f"{before}{JOIN}{word}" if before else word for before in found for word in words]
    there = np.unique(code[code >= 0])
    place = np.full(len(found) + 1, -1)
    place[there] = np.arange(len(there))
    return place[code], [found[number] for number in there]


def rate_cases(labels: Ints, baseline: Ints, compressed: Ints, positive: int | None) -> dict[str, Case]:
    """The cases of each rate: without a positive class the error, with one also false positives and negatives."""
    said = {"before": np.atleast_2d(baseline), "compressed": np.atleast_2d(compressed)}
    if positive is None:
        return {"error": Case({name: p != labels for name, p in said.items()}, np.ones(len(labels), bool))}
    is_positive = labels == positive
    wrong = {name: (p == positive) != is_positive for name, p in said.items()}
    return {
        "error": Case(wrong, np.ones(len(labels), bool)),
        "fpr": Case(wrong, ~is_positive),
        "fnr": Case(wrong, is_positive),
    }


def holm(p: Floats) -> Floats:
    """Holm's corrected p-values; NaN stays NaN and does not count as a test."""
    corrected = np.full(len(p), np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    stepped = p[order] * np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(stepped), 1)
    return corrected


def _rows(case: Case, code: Ints, names: list[str], cluster: Ints | None) -> pd.DataFrame:
    # Everybody of the rate: those without a group are among the rest.
    counted = np.flatnonzero(case.counted)
    code, n_groups = code[counted], len(names)
    cluster = None if cluster is None else cluster[counted]
    n = np.bincount(code[code >= 0], minlength=n_groups).astype(float)
    where = layout(code, cluster, n_groups)
    table = pd.DataFrame({"group": names, "n": n.astype(int), "small": n < SMALL})
    for name, wrong in case.wrong.items():
        rates = clustered_rates(wrong[:, counted], where)
        ends = wilson_interval(rates.value * n, n) if cluster is None else clustered_shares(rates, n * len(wrong))
        table[name], table[f"{name}_low"], table[f"{name}_high"] = rates.value, *ends
    table["normalised"] = 100 * (table["compressed"] - table["before"]) / table["before"].where(table["before"] > 0)
    change = (case.wrong["compressed"].astype(np.int8) - case.wrong["before"].astype(np.int8))[:, counted]
    own = clustered_rates(change, where)
    against = clustered_contrasts(change, where)
    low, high = own.interval()
    return table.assign(
        change=table["compressed"] - table["before"],
        low=low,
        high=high,
        against_rest=against.value,
        p=against.p,
        error=np.sqrt(against.variance),
        freedom=against.freedom,
        test=[_parting(code == number) for number in range(n_groups)],
        n_clusters=own.n_clusters.astype(int),
    )


def _parting(inside: NDArray[np.bool_]) -> int:
    """A number for how a group parts the examples in two, the same for a group and its complement."""
    return int.from_bytes(blake2b(np.packbits(inside ^ inside[:1]).tobytes(), digest_size=7).digest())


def _corrected(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of one rate with `p_corrected`, the number of each one's `test`, `reach` and `can_reject`."""
    test = pd.factorize(rows["test"])[0]
    first = np.unique(test, return_index=True)[1]
    p = rows["p"].to_numpy()[first]
    each = ALPHA / max(int((~np.isnan(p)).sum()), 1)
    reach = stdtrit(rows["freedom"], 1 - each / 2) * rows["error"]
    # The group's rate may end anywhere between 0 and 1 while the others change as they do.
    unmoved = rows["before"] + rows["change"] - rows["against_rest"]
    most = np.maximum(1 - unmoved, unmoved)
    return rows.assign(p_corrected=holm(p)[test], test=test, reach=reach, can_reject=reach <= most)
