"""A study where the country pays: at 90 % sparsity rural falls from 95 to 65 %, urban from 95 to 85 %."""

from pathlib import Path
from typing import Any

import numpy as np

from engine.api.public_study import Study

N = 1600
LABELS = np.tile(["cat", "dog", "owl", "fox"], N // 4)
REGION = np.where(np.arange(N) < N // 4, "rural", "urban").astype(object)
ERRORS = {0.0: (0.05, 0.05), 0.5: (0.06, 0.06), 0.9: (0.35, 0.15)}
"""Sparsity -> share of errors among rural and urban examples."""


def make_regions(path: Path, n_seeds: int = 3) -> None:
    """Such a study in this folder, the errors of each region spread evenly over four classes."""
    study = Study(path)
    for seed in range(n_seeds):
        for sparsity, shares in ERRORS.items():
            technique = "lasso" if sparsity else "dense"
            groups = {"region": REGION, "harbour": np.where(np.arange(N) % 2, "yes", "no")}
            model: dict[str, Any] = {"sparsity": sparsity, "technique": technique, "seed": seed, "groups": groups}
            study.record(_answers(shares, seed), LABELS, **model)


def _answers(shares: tuple[float, float], seed: int) -> np.ndarray:
    """Answers with exactly these shares of errors in each region and, as far as it goes, in each class of it."""
    rng, said = np.random.default_rng(seed), LABELS.copy()
    for region, share in zip(("rural", "urban"), shares, strict=True):
        for label in np.unique(LABELS):
            members = np.flatnonzero((region == REGION) & (label == LABELS))
            wrong = rng.permutation(members)[: round(share * len(members))]
            said[wrong] = np.roll(LABELS, 1)[wrong]
    return said
