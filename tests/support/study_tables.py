"""Small made-up studies for the tests of the analyses."""

import numpy as np
import pandas as pd

from engine.analysis.columns import MODEL

IDENTITY = dict.fromkeys(MODEL, "") | {"dataset": "digits", "network": "lenet", "treatment": "rewind"}


def study_tables(
    techniques: tuple[str, ...] = ("global", "random"), n_seeds: int = 3, n_levels: int = 4, seed: int = 0, n: int = 50
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Levels and classes of a study with ten classes, of which later ones lose more; class 9 has no test example."""
    rng = np.random.default_rng(seed)
    levels, classes = [], []
    for technique in techniques:
        for number in range(n_seeds):
            identity = {"run": f"{technique}{number}", **IDENTITY, "technique": technique, "seed": number}
            for level in range(n_levels):
                sparsity = 1 - 0.5**level
                sizes = np.array([n] * 9 + [0])
                correct = rng.binomial(sizes, 0.95 - 0.05 * np.arange(10) * sparsity)
                place = {"level": level, "sparsity": sparsity}
                levels.append(identity | place | {"accuracy": correct.sum() / sizes.sum(), "loss": 0.1})
                for name in range(10):
                    counts = {"n": sizes[name], "correct": correct[name], "predicted": correct[name] + 1}
                    loss = rng.random() if sizes[name] else np.nan
                    classes.append(identity | place | {"class": name, **counts, "loss": loss})
    return pd.DataFrame(levels), pd.DataFrame(classes)


def points_table(
    sparsity: list[float], unfairness: list[float], accuracy: list[float] | None = None, technique: str = "global"
) -> pd.DataFrame:
    """Operating points of one model, level by level, with `max_min` as unfairness."""
    n = len(sparsity)
    return pd.DataFrame(
        {
            "point": np.arange(n),
            **{name: [value] * n for name, value in IDENTITY.items()},
            "technique": technique,
            "level": np.arange(n),
            "dense": 0,
            "n_seeds": 6,
            "sparsity": np.array(sparsity, float),
            "accuracy": np.ones(n) if accuracy is None else np.array(accuracy, float),
            "max_min": np.array(unfairness, float),
        }
    )
