"""One example through all levels: what do most networks say of it from dense to the sparsest level, and where does that
change?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Stretch:
    """Neighbouring levels at which most networks give the example the same label."""

    label: int
    first: int
    """Level at which it begins."""
    last: int


def usual_path(counts: NDArray[np.integer], levels: Sequence[int]) -> list[Stretch]:
    """The stretches of one example in the order of the levels; `counts` is (n_levels, n_classes), votes each.

    Where votes tie, the label of the level before stays if it is among the most frequent, else the lowest one counts.
    """
    path: list[Stretch] = []
    for level, row in zip(levels, counts, strict=True):
        most = row.max()
        label = path[-1].label if path and row[path[-1].label] == most else int(row.argmax())
        if path and path[-1].label == label:
            path[-1] = Stretch(label, path[-1].first, level)
        else:
            path.append(Stretch(label, level, level))
    return path
