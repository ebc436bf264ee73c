"""Writers made up for a mixed logit: rates are known in logits, digits differ, all seeds see the same digits."""

import numpy as np
import pandas as pd
from scipy.special import betaincinv, expit, ndtr


def mixed_members(
    seed: int,
    n_writers: int = 60,
    n_digits: int = 80,
    n_seeds: int = 6,
    own: float = 0.4,
    own_loss: float = 0.4,
    slope: float = 0.2,
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray, np.ndarray]:
    """Examples, predictions before and after, and every writer's true loss.

    A digit's chance to be right is drawn around its writer's and class's rate, before and after alike; `own` is the
    spread of writers before, `own_loss` of what pruning does to each alone, `slope` what a unit of tilt adds to it.
    """
    rng = np.random.default_rng(seed)
    writer = np.repeat(np.arange(n_writers), n_digits)
    label, series, tilt = rng.integers(0, 5, len(writer)), writer % 3, rng.normal(0, 1, n_writers)
    first = 3.0 + rng.normal(0, 0.3, 5)[label] + rng.normal(0, own, n_writers)[writer]
    added = -1.2 - 0.1 * series - slope * tilt[writer] + rng.normal(0, own_loss, n_writers)[writer]
    rates = expit(first), expit(first + added)
    shared, levels = rng.normal(size=len(writer)), rng.normal(0, 0.05, n_seeds)
    predictions = []
    for rate in rates:
        rank = ndtr(0.8 * shared + 0.6 * rng.normal(size=len(writer)))
        chance = betaincinv(1.5 * rate, 1.5 * (1 - rate), rank)
        logit = np.log(np.clip(chance, 1e-9, None) / np.clip(1 - chance, 1e-9, None))
        wrong = rng.random((n_seeds, len(writer))) > expit(logit + levels[:, None])
        predictions.append((label + wrong) % 5)
    examples = pd.DataFrame({"label": label, "writer": writer, "series": series, "abs_tilt": tilt[writer]})
    loss = np.bincount(writer, rates[0] - rates[1]) / n_digits
    return examples, predictions[0], predictions[1], loss
