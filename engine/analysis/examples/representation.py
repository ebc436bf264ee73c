"""Who is over-represented among chosen examples: share of each class, group and attribute bin there and elsewhere.

Hooker et al. 2020, Fig. 2: share of an attribute among the exemplars against its share in training.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from engine.analysis.intervals import wilson_interval
from engine.analysis.uncertainty.clusters import Ints, cluster_codes, clustered_portions, clustered_shares

COLUMNS = ("grouping", "group", "n", "n_chosen", "share_chosen", "share", "reference", "ratio", "low", "high", "small")
N_BINS = 4
SMALL = 30
"""Below this many examples a group is marked as small."""


def representation(
    examples: pd.DataFrame,
    chosen: NDArray[np.bool_],
    groupings: Sequence[str],
    attributes: Sequence[str] = (),
    training: Mapping[str, Mapping[str, int]] | None = None,
) -> pd.DataFrame:
    """One row per group of each grouping and per bin of each attribute: the columns of COLUMNS.

    `share` is the group's share of the training examples where `training` counts them (grouping -> group -> n), else of
    the test examples; `reference` says which. `ratio` = share among the chosen / share: above 1 is over-represented.
    The 95 % interval is Wilson's for the share among the chosen, over the share, which is taken as known; with
    members (writers) among the examples, for as many independent ones as vary like new members. An example without a
    group counts in none of that grouping. Attributes are cut at the quartiles of the test examples.
    """
    cluster = cluster_codes(examples)
    named = {name: examples[name] for name in groupings} | {name: attribute_bins(examples[name]) for name in attributes}
    parts = [_shares(name, values, chosen, (training or {}).get(name), cluster) for name, values in named.items()]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(COLUMNS))


def attribute_bins(values: pd.Series, n_bins: int = N_BINS) -> pd.Series:
    """Each value's bin as text, "0.12 to 0.34", in the order of the bins; bins hold about equally many examples."""
    known = values.to_numpy(float)
    edges = np.unique(np.nanquantile(known, np.linspace(0, 1, n_bins + 1))) if np.isfinite(known).any() else np.zeros(0)
    if len(edges) < 2:
        return pd.Series([None if np.isnan(value) else "one value" for value in known], name=values.name, dtype=object)
    names = [f"{low:.3g} to {high:.3g}" for low, high in zip(edges[:-1], edges[1:], strict=True)]
    names = [name if names.count(name) == 1 else f"{name} (bin {number + 1})" for number, name in enumerate(names)]
    code = np.searchsorted(edges[1:-1], known, side="left")
    code = np.where(np.isnan(known), -1, code)
    return pd.Series(pd.Categorical.from_codes(code, names, ordered=True), name=values.name)


def _shares(
    grouping: str,
    values: pd.Series,
    chosen: NDArray[np.bool_],
    training: Mapping[str, int] | None,
    cluster: Ints | None,
) -> pd.DataFrame:
    if isinstance(values.dtype, pd.CategoricalDtype) and values.cat.ordered:
        code, names = values.cat.codes.to_numpy(), values.cat.categories.to_numpy()
    else:
        code, found = pd.factorize(values, sort=True)
        names = np.asarray(found)
    text = [str(name) for name in names]
    n = np.bincount(code[code >= 0], minlength=len(text))
    n_chosen = np.bincount(code[(code >= 0) & chosen], minlength=len(text))
    counts = np.array([training.get(name, 0) for name in text], float) if training else n.astype(float)
    total = sum(training.values()) if training else n.sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(counts > 0, counts / total, np.nan)
        share_chosen = n_chosen / (n_chosen.sum() if n_chosen.sum() else np.nan)
    all_chosen = np.full(len(text), float(n_chosen.sum()))
    if cluster is None:
        low, high = wilson_interval(n_chosen, all_chosen)
    else:
        portions = clustered_portions(chosen, code, cluster, len(text), fixed_sizes=not training)
        low, high = clustered_shares(portions, all_chosen if training else np.full(len(text), np.inf))
    table = {
        "grouping": grouping,
        "group": text,
        "n": n,
        "n_chosen": n_chosen,
        "share_chosen": share_chosen,
        "share": share,
        "reference": "training" if training else "test",
        "ratio": share_chosen / share,
        "low": low / share,
        "high": high / share,
        "small": n < SMALL,
    }
    return pd.DataFrame(table, columns=list(COLUMNS))
