"""What do most seeds predict for an example, and does pruning make that right or wrong?"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class Majority:
    """Of each example the class that most seeds predict, and the share of seeds that are right."""

    prediction: Ints
    right: NDArray[np.float64]


def majority(predictions: Ints, labels: Ints) -> Majority:
    """The most frequent prediction of (seeds, examples); at a tie the right class, else the lowest number."""
    predictions = np.atleast_2d(predictions).astype(np.int64)
    n_classes = int(max(predictions.max(initial=0), labels.max(initial=0))) + 1
    votes = (predictions[:, :, None] == np.arange(n_classes)).sum(axis=0)
    right = votes[np.arange(len(labels)), labels]
    usual = np.where(right == votes.max(axis=1), labels, votes.argmax(axis=1))
    return Majority(usual, right / len(predictions))


def outcomes(before: Majority, after: Majority, labels: Ints) -> NDArray[np.str_]:
    """What became of each example: "right" before and after, "lost", "gained", or wrong at "both"."""
    was, now = before.prediction == labels, after.prediction == labels
    return np.select([was & now, was & ~now, ~was & now], ["right", "lost", "gained"], "both")
