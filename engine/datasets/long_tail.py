"""How many examples of each class a long-tailed training split has: sizes that fall geometrically, all else balanced.

Pure numpy; which examples they are is drawn by whoever splits.
"""

from fractions import Fraction

import numpy as np


def held_out_sizes(counts: np.ndarray, share: float) -> np.ndarray:
    """Of each class, how many of its examples a validation split of this share holds out: in all, as many as of a split
    that looks at no class; what rounding leaves goes to the largest remainders, the first of equals."""
    exact = [Fraction(str(share)) * int(count) for count in counts]
    sizes = np.array([int(part) for part in exact])
    left = round(share * int(counts.sum())) - int(sizes.sum())
    by_remainder = sorted(range(len(exact)), key=lambda c: (sizes[c] - exact[c], c))
    sizes[by_remainder[:left]] += 1
    return sizes


def long_tail_sizes(counts: np.ndarray, imbalance: int) -> np.ndarray:
    """Sizes that fall geometrically from the most frequent class to the least, by `imbalance` in all.

    Classes keep the order of their counts, the first of equals first; the sizes are the largest for which every class
    has enough examples, rounded, and at least 1. A class without any has none.
    """
    present = np.flatnonzero(counts)
    if len(present) < 2:
        return counts.copy()
    ordered = present[np.argsort(-counts[present], kind="stable")]
    falling = float(imbalance) ** (-np.arange(len(ordered)) / (len(ordered) - 1))
    largest = (counts[ordered] / falling).min()
    sizes = np.zeros_like(counts)
    sizes[ordered] = np.maximum(np.rint(largest * falling), 1)
    return sizes


def long_tailed(labels: np.ndarray, order: np.ndarray, share: float, imbalance: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a training side that are held out to validate, class by class, and those that are trained on.

    `order` is a random order of all rows; both parts are in it. Validation is as balanced as the data set.
    """
    counts = np.bincount(labels)
    held_out = held_out_sizes(counts, share)
    trained = long_tail_sizes(counts - held_out, imbalance)
    place = np.empty(len(order), int)  # of each row among those of its class
    for label in range(len(counts)):
        mine = labels[order] == label
        place[mine] = np.arange(mine.sum())
    first = held_out[labels[order]]
    is_trained = (place >= first) & (place < first + trained[labels[order]])
    return order[place < first], order[is_trained]
