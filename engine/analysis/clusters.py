"""How sure are the rates of groups where examples come in clusters: digits of one writer are no independent draws.

Linearised means with CR1 and Student's t of G - 1 degrees of freedom (Cameron and Miller 2015, A practitioner's guide
to cluster-robust inference); seeds, which share the examples, add their own variance.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from engine.analysis.example_columns import FEW_GROUPS, member_columns
from engine.analysis.intervals import score_interval

Floats = NDArray[np.float64]
Ints = NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Estimates:
    """One number per group, how much it varies with new seeds and new clusters, and the degrees of freedom of that."""

    value: Floats
    variance: Floats
    freedom: Floats
    n_clusters: Floats

    def reach(self, confidence: float = 0.95) -> Floats:
        """Half of the interval: the least distance from 0 that a test at this level tells from chance."""
        half: Floats = stdtrit(self.freedom, 0.5 + confidence / 2) * np.sqrt(self.variance)
        return half

    def interval(self, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """Low and high end of Student's interval; NaN where the variance cannot be estimated."""
        half = self.reach(confidence)
        return self.value - half, self.value + half

    @property
    def p(self) -> Floats:
        """Two-sided p of the test that the number is 0; NaN where there is no spread."""
        with np.errstate(invalid="ignore", divide="ignore"):
            t = np.abs(self.value) / np.sqrt(np.where(self.variance > 0, self.variance, np.nan))
        p: Floats = 2 * stdtr(self.freedom, -t)
        return p


@dataclass(frozen=True, eq=False)
class _Cells:
    """Sums over the examples that a cluster has in a group, cell by cell, and over the whole cluster beside them."""

    group: Ints
    sums: Floats
    n: Floats
    cluster_sums: Floats
    cluster_n: Floats
    totals: tuple[Floats, Floats]
    """Sums and sizes of all clusters."""


def cluster_codes(examples: pd.DataFrame) -> Ints | None:
    """The member that each example comes from, as a number; None where the examples name no members.

    Members are those of the first of `member_columns` that is no column of groups. An example without a member is a
    cluster of its own.
    """
    names = [name for name in member_columns(examples) if examples[name].nunique() > FEW_GROUPS]
    if not names:
        return None
    code, members = pd.factorize(examples[names[0]])
    alone = np.flatnonzero(code < 0)
    codes: Ints = code.astype(np.intp)
    codes[alone] = len(members) + np.arange(len(alone))
    return codes


def clustered_rates(values: NDArray[np.generic], code: Ints, cluster: Ints | None, n_groups: int) -> Estimates:
    """Mean of each group; `values` are (n_seeds, n_examples), `code` is each example's group, -1 for none.

    Variance = G / (G - 1) x sum over clusters of (cluster's sum - mean x its n)^2 / n^2, as an OLS on a constant with
    errors by cluster has it, plus the variance of the seeds' means over their number: a little too wide rather than too
    narrow (Owen 2007, The pigeonhole bootstrap). Satterthwaite's degrees of freedom. Without `cluster` every example is
    one. With one seed it speaks of that seed only.
    """
    by_seed, n = _by_seed(values, code, n_groups)
    cells = _cells(values, code, cluster, n_groups)
    rate = by_seed.mean(axis=0)
    clusters = np.bincount(cells.group, minlength=n_groups).astype(float)
    squares = np.bincount(cells.group, (cells.sums - rate[cells.group] * cells.n) ** 2, minlength=n_groups)
    own = _cr1(clusters) ** 2 * squares / n**2
    return _crossed(by_seed, own, [(own, clusters - 1)], clusters)


def clustered_contrasts(values: NDArray[np.generic], code: Ints, cluster: Ints | None, n_groups: int) -> Estimates:
    """Mean of each group less that of all other examples, those without a group among them.

    As `clustered_rates`, each side with the factor of its own clusters; a cluster on both sides counts with its
    covariance. Where every cluster is on both, the variance is that of an OLS on the group with errors by cluster, but
    for its factor (N - 1) / (N - 2).
    """
    by_seed, n = _by_seed(values, code, n_groups)
    whole = np.asarray(values, float).sum(axis=1, keepdims=True)
    n_rest = np.where(len(code) > np.nan_to_num(n), len(code) - np.nan_to_num(n), np.nan)
    rest = (whole - np.nan_to_num(by_seed * n)) / n_rest
    cells = _cells(values, code, cluster, n_groups)
    rate, other, group = by_seed.mean(axis=0), rest.mean(axis=0), cells.group
    own_part = cells.sums - rate[group] * cells.n
    cluster_part = cells.cluster_sums - other[group] * cells.cluster_n
    here = cells.sums - other[group] * cells.n
    clusters = np.bincount(group, minlength=n_groups).astype(float)
    inside = np.bincount(group, cells.n == cells.cluster_n, minlength=n_groups)
    clusters_rest = (len(cells.totals[0]) - inside).astype(float)
    own = np.bincount(group, own_part**2, minlength=n_groups) / n**2
    sums, sizes = cells.totals
    all_clusters = sums @ sums - 2 * other * (sums @ sizes) + other**2 * (sizes @ sizes)
    outside = all_clusters + np.bincount(group, here**2 - 2 * here * cluster_part, minlength=n_groups)
    outside = np.maximum(outside, 0) / n_rest**2
    both = np.bincount(group, own_part * (cluster_part - here), minlength=n_groups) / (n * n_rest)
    factor, factor_rest = _cr1(clusters), _cr1(clusters_rest)
    own, outside = factor**2 * own, factor_rest**2 * outside
    variance = np.maximum(own + outside - 2 * factor * factor_rest * both, 0)
    parts = [(own, clusters - 1), (outside, clusters_rest - 1)]
    return _crossed(by_seed - rest, variance, parts, np.minimum(clusters, clusters_rest))


def clustered_shares(rates: Estimates, n: Floats, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Ends within 0 to 1 of the interval of rates: Wilson's for the number of independent examples that would vary as
    much, n at most; where nothing varies, as many as there are clusters."""
    share = np.clip(rates.value, 0, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        size = np.where(rates.variance > 0, share * (1 - share) / rates.variance, rates.n_clusters)
    freedom = np.where(np.isnan(rates.freedom), rates.n_clusters - 1, rates.freedom)
    with np.errstate(invalid="ignore"):
        critical = stdtrit(np.where(freedom > 0, freedom, np.nan), 0.5 + confidence / 2)
    return score_interval(share, np.minimum(np.maximum(size, 1e-12), n), critical)


def clustered_portions(
    chosen: NDArray[np.bool_], code: Ints, cluster: Ints, n_groups: int, fixed_sizes: bool
) -> Estimates:
    """Each group's share of the chosen examples that have a group, with the variance that clusters give it.

    With `fixed_sizes` the groups are as large as they are and only the rate at which each is chosen varies, as where
    the share among the chosen is compared with that among the same examples.
    """
    known = code >= 0
    picked, code, cluster = chosen[known].astype(float), code[known], np.unique(cluster[known], return_inverse=True)[1]
    n = np.bincount(code, minlength=n_groups)
    n_chosen = np.bincount(code, picked, minlength=n_groups)
    total = picked.sum() if picked.any() else np.nan
    share = n_chosen / total
    per_group = n_chosen / np.where(n > 0, n, np.nan) if fixed_sizes else np.zeros(n_groups)
    n_clusters = int(cluster.max(initial=-1)) + 1
    off = picked - per_group[code]
    own = np.bincount(cluster * n_groups + code, off, minlength=n_clusters * n_groups)
    every = np.bincount(cluster, off, minlength=n_clusters)
    pull = (own.reshape(n_clusters, n_groups) - share * every[:, None]) / total
    clusters = np.full(n_groups, float(n_clusters if fixed_sizes else len(np.unique(cluster[picked > 0]))))
    return Estimates(share, _cr1(clusters) ** 2 * (pull**2).sum(axis=0), clusters - 1, clusters)


def _by_seed(values: NDArray[np.generic], code: Ints, n_groups: int) -> tuple[Floats, Floats]:
    """Mean of each seed and group, and the size of each group, NaN for 0."""
    known = code >= 0
    n = np.bincount(code[known], minlength=n_groups).astype(float)
    n = np.where(n > 0, n, np.nan)
    sums = [np.bincount(code[known], row[known].astype(float), minlength=n_groups) for row in np.atleast_2d(values)]
    return np.array(sums, float).reshape(-1, n_groups) / n, n


def _cells(values: NDArray[np.generic], code: Ints, cluster: Ints | None, n_groups: int) -> _Cells:
    mean = np.asarray(values, float).mean(axis=0)
    number = np.arange(len(code)) if cluster is None else np.unique(cluster, return_inverse=True)[1]
    sums, sizes = np.bincount(number, mean).astype(float), np.bincount(number).astype(float)
    known = np.flatnonzero(code >= 0)
    cell, place = np.unique(number[known] * n_groups + code[known], return_inverse=True)
    of_cluster = cell // n_groups
    return _Cells(
        group=cell % n_groups,
        sums=np.bincount(place, mean[known], minlength=len(cell)).astype(float),
        n=np.bincount(place, minlength=len(cell)).astype(float),
        cluster_sums=sums[of_cluster],
        cluster_n=sizes[of_cluster],
        totals=(sums, sizes),
    )


def _cr1(clusters: Floats) -> Floats:
    """Root of CR1's factor G / (G - 1), NaN below two clusters."""
    usable = np.where(clusters > 1, clusters, np.nan)
    factor: Floats = np.sqrt(usable / (usable - 1))
    return factor


def _crossed(by_seed: Floats, of_clusters: Floats, parts: list[tuple[Floats, Floats]], clusters: Floats) -> Estimates:
    """The mean over seeds with the variance of clusters and seeds together, and its degrees of freedom."""
    n_seeds = len(by_seed)
    variance = of_clusters
    if n_seeds > 1:
        of_seeds = by_seed.var(axis=0, ddof=1) / n_seeds
        variance = variance + of_seeds
        parts = [*parts, (of_seeds, np.full(len(of_seeds), n_seeds - 1.0))]
    with np.errstate(invalid="ignore", divide="ignore"):
        freedom = variance**2 / np.sum([part**2 / of for part, of in parts], axis=0)
    return Estimates(by_seed.mean(axis=0), variance, np.where(variance > 0, freedom, np.nan), clusters)
