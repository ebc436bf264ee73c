"""How far would other seeds move a slope: what seeds add to the uncertainty that the members give."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def seed_changes(
    examples: pd.DataFrame,
    before: NDArray[np.integer],
    after: NDArray[np.integer],
    member: str,
    names: pd.Series,
) -> Floats:
    """Change of accuracy of the members named, seed by seed: (n_seeds, n_members).

    `before` and `after` are predictions (n_seeds, n_examples) of the same seeds; where their numbers differ, every seed
    is compared with the mean before.
    """
    code = pd.Index(names).get_indexer(pd.Index(examples[member]))
    rows, label = np.flatnonzero(code >= 0), examples["label"].to_numpy()
    n = np.bincount(code[rows], minlength=len(names))
    was, now = (np.atleast_2d(predictions) == label for predictions in (before, after))
    change = now - (was if len(was) == len(now) else was.mean(axis=0)).astype(float)
    return np.stack([np.bincount(code[rows], each[rows], minlength=len(names)) / n for each in change])


def seed_covariance(design: Floats, changes: Floats) -> Floats:
    """What seeds add to the covariance of the coefficients of the mean change on the design: (k, k); 0 for one seed.

    `design` is (n_members, k), `changes` (n_seeds, n_members). Coefficients differ between seeds by the seeds' own
    spread and by chance within members; the latter is in the members' residuals already and is taken out once
    (Cameron, Gelbach and Miller 2011). What is left may be negative by chance; see `positive_part`.
    """
    n_seeds = len(changes)
    if n_seeds < 2:
        return np.zeros((design.shape[1],) * 2)
    solve = np.linalg.pinv(design)
    away = changes - changes.mean(axis=0)
    each = away @ solve.T
    leverage = np.einsum("nk,kn->n", design, solve)
    noise = np.square(away - each @ design.T).sum(axis=0) / (n_seeds - 1) / np.clip(1 - leverage, 1e-12, None)
    covariance: Floats = (each.T @ each / (n_seeds - 1) - (solve * noise) @ solve.T) / n_seeds
    return covariance


def positive_part(covariance: Floats) -> Floats:
    """The nearest covariance without negative variances in any direction."""
    values, vectors = np.linalg.eigh(covariance)
    kept: Floats = (vectors * np.clip(values, 0, None)) @ vectors.T
    return kept


def joint_freedom(members: float, seeds: float, n_members: int, n_seeds: int) -> float:
    """Satterthwaite's degrees of freedom of a sum of the two variances, which rest on so many of each."""
    if not seeds > 0:
        return float(n_members)
    return float((members + seeds) ** 2 / (members**2 / n_members + seeds**2 / (n_seeds - 1)))
