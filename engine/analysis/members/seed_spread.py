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
    seen, noise = seed_parts(design, changes)
    return seen - noise


def seed_parts(design: Floats, changes: Floats) -> tuple[Floats, Floats]:
    """The two parts of `seed_covariance`: how the coefficients differ between seeds, and how chance alone has them."""
    n_seeds, shape = len(changes), (design.shape[1],) * 2
    if n_seeds < 2:
        return np.zeros(shape), np.zeros(shape)
    solve = np.linalg.pinv(design)
    away = changes - changes.mean(axis=0)
    each = away @ solve.T
    leverage = np.einsum("nk,kn->n", design, solve)
    noise = np.square(away - each @ design.T).sum(axis=0) / (n_seeds - 1) / np.clip(1 - leverage, 1e-12, None)
    return each.T @ each / (n_seeds - 1) / n_seeds, (solve * noise) @ solve.T / n_seeds


def joint_variance(members: float, seen: float, noise: float, n_members: int, n_seeds: int) -> tuple[float, float]:
    """Variance for new members and new seeds, and its degrees of freedom (Satterthwaite's, of all three parts).

    `seen` and `noise` are of `seed_parts`. Their difference counts where it is below 0 too, because to cut it off there
    is too wide on average; but half of the members' variance is always left.
    """
    if n_seeds < 2:
        return members, float(n_members)
    variance = max(members + seen - noise, members / 2)
    parts = members**2 / n_members + seen**2 / (n_seeds - 1) + noise**2 / (n_members * (n_seeds - 1))
    return variance, variance**2 / parts if parts > 0 else float(n_members)


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
