"""How sure is a coefficient when rows depend on each other: sandwich covariances over a design in blocks.

All of them are root W root' with root = inverse of the fit's triangle, and W summed over the rows' scores times root.
"""

from collections import deque

import numpy as np
from numpy.typing import NDArray

from engine.analysis.regression.block_design import Design, in_one_thread, r_factor

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


@in_one_thread
def hac(design: Design, root: Floats, residuals: Floats, lags: int) -> Floats:
    """Newey and West's covariance, Bartlett weights 1 - lag / (lags + 1), times n / (n - columns); HC1 with no lag."""
    whitened = design.on @ root
    middle = np.zeros((root.shape[1], root.shape[1]))
    before: deque[Floats] = deque(maxlen=lags)
    """Scores of the rows just before the block, the nearest last."""
    for (rows, _), on in zip(design.blocks(), whitened, strict=True):
        scores = design.numeric[rows] * residuals[rows, None]
        inner = scores.T @ scores
        for lag in range(1, min(lags, len(scores) - 1) + 1):
            product = scores[lag:].T @ scores[:-lag]
            inner += _bartlett(lag, lags) * (product + product.T)
        middle += on.T @ inner @ on
        head = scores[:lags] @ on
        for place, score in enumerate(head):
            for lag in range(place + 1, min(lags, place + len(before)) + 1):
                product = np.outer(score, before[place - lag])
                middle += _bartlett(lag, lags) * (product + product.T)
        before.extend(scores[-lags:] @ on if lags else ())
    n_rows, n_columns = design.shape
    return root @ middle @ root.T * (n_rows / (n_rows - n_columns))


@in_one_thread
def leverage(design: Design, root: Floats, weights: Floats | None = None) -> Floats:
    """Diagonal of the hat matrix: how far each row draws the fit to itself, 0 to 1."""
    result = np.empty(len(design.numeric))
    for (rows, _), on in zip(design.blocks(), design.on @ root, strict=True):
        half = r_factor(on.T)
        result[rows] = np.square(design.numeric[rows] @ half.T).sum(axis=1)
    return result if weights is None else result * weights


def hc3(design: Design, root: Floats, residuals: Floats, hat: Floats) -> Floats:
    """MacKinnon and White's HC3: each residual divided by 1 - leverage."""
    n_rows, n_columns = design.shape
    return hac(design, root, residuals / (1 - hat), 0) * ((n_rows - n_columns) / n_rows)


def clustered(design: Design, root: Floats, residuals: Floats, clusters: Ints) -> Floats:
    """Covariance robust to any dependence within clusters 0, 1, ...; times G / (G - 1) (n - 1) / (n - columns)."""
    sums = cluster_sums(design, root, residuals, clusters)
    return root @ (sums.T @ sums) @ root.T * clustered_factor(design, len(sums))


@in_one_thread
def cluster_sums(design: Design, root: Floats, values: Floats, clusters: Ints) -> Floats:
    """Sum over each cluster's rows of row times root times value, (n_clusters, n_columns)."""
    sums = np.zeros((int(clusters.max()) + 1, root.shape[1]))
    for (rows, _), on in zip(design.blocks(), design.on @ root, strict=True):
        here, code = np.unique(clusters[rows], return_inverse=True)
        scores = design.numeric[rows] * values[rows, None]
        part = np.stack([np.bincount(code, column, minlength=len(here)) for column in scores.T], axis=1)
        sums[here] += part @ on
    return sums


def clustered_factor(design: Design, n_clusters: int) -> float:
    """Small sample correction of clustered covariances."""
    n_rows, n_columns = design.shape
    return n_clusters / (n_clusters - 1) * (n_rows - 1) / (n_rows - n_columns)


def _bartlett(lag: int, lags: int) -> float:
    return 1 - lag / (lags + 1)
