"""Who loses at an operating point: every class and every group, before and after?"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from engine.analysis.intervals import share_interval
from engine.analysis.seeds import over_seeds
from engine.analysis.uncertainty.clusters import clustered_rates, layout
from engine.analysis.uncertainty.simultaneous import confidence_of_each

PULLED = {"accuracy": "change", "low": "low", "high": "high"}

GROUP_LOSSES = ("grouping", "group", "n", "dense", "accuracy", "low", "high", "change")


def class_losses(class_means: pd.DataFrame, controls: pd.Series | None = None) -> pd.DataFrame:
    """The classes of one operating point, largest loss first: class, n, dense, accuracy, low, high, change.

    `class_means` are its rows of `class_curves`. With `controls`, the accuracy of each class (index) of networks that
    trained as long, that stands beside dense as `control`, and the change is since then.
    """
    rows = class_means.rename(columns={"dense_accuracy": "dense"})
    columns = ["class", "n", "dense", "accuracy", "low", "high", "change"]
    before = rows["dense"]
    if controls is not None:
        before = rows["class"].map(controls)
        rows, columns = rows.assign(control=before), [*columns[:3], "control", *columns[3:]]
    return rows.assign(change=rows["accuracy"] - before)[columns].sort_values("change", ignore_index=True)


def pulled_losses(losses: pd.DataFrame, pulled: pd.DataFrame, before: str) -> pd.DataFrame:
    """The rows of `class_losses` with the changes of `shrunk_changes`, by number of the group, in the place of those
    counted, and accuracies that follow from the column `before`; largest loss first, and `pulled` is true."""
    found = pulled.loc[losses["class"]].reset_index(drop=True)
    ends = {name: (losses[before] + found[of]).clip(0, 1) for name, of in PULLED.items()}
    return losses.assign(**ends, change=found["change"], pulled=True).sort_values("change", ignore_index=True)


def change_intervals(
    changes: NDArray[np.floating],
    code: NDArray[np.integer],
    cluster: NDArray[np.integer] | None,
    n_groups: int,
    n_many: int,
) -> pd.DataFrame:
    """One row per group: low and high end of the 95 % interval of its mean change, for `n_many` groups at once, so that
    the worst of them may be picked after looking.

    `changes` are after less before, (n_seeds, n_examples), `code` is the place of each example's group, -1 for none.
    They hold for other seeds, and for other members (`cluster`) or examples (None); NaN with one seed or one member.
    """
    found = clustered_rates(changes, layout(code, cluster, n_groups))
    low, high = found.interval(float(confidence_of_each(n_many)))
    known = len(changes) > 1
    return pd.DataFrame({"low": np.where(known, low, np.nan), "high": np.where(known, high, np.nan)})


def group_losses(counts: pd.DataFrame, level: int, controls: pd.DataFrame | None = None) -> pd.DataFrame:
    """The groups at a level, mean over seeds, beside dense: the columns of GROUP_LOSSES.

    `counts` are `group_counts` of the same runs at level 0 and at this one. With `controls`, those of networks that
    trained as long, their accuracy stands beside dense as `control`, and the change is since then.
    """
    if counts.empty:
        return pd.DataFrame(columns=list(GROUP_LOSSES))
    keys, columns = ["grouping", "group"], list(GROUP_LOSSES)
    means = over_seeds(_rates(counts), ["level", *keys], ["accuracy", "n"])
    after = means[means["level"] == level].set_index(keys)
    dense = means[means["level"] == 0].set_index(keys)["accuracy"].reindex(after.index)
    low, high = share_interval(after["accuracy"], after["accuracy_sd"], after["accuracy_n"])
    rows, before = after.assign(dense=dense, low=low, high=high), dense
    if controls is not None:
        before = _rates(controls).groupby(keys)["accuracy"].mean().reindex(after.index)
        rows, columns = rows.assign(control=before), [*columns[:4], "control", *columns[4:]]
    return rows.assign(change=rows["accuracy"] - before).reset_index()[columns]


def _rates(counts: pd.DataFrame) -> pd.DataFrame:
    return counts.assign(accuracy=counts["correct"] / counts["n"])
