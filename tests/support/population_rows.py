"""A made-up population as large as the paper's, whose coefficients are known: those that the paper published."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from engine.analysis.regression.design_columns import layout
from engine.analysis.regression.population import Population, quartile
from engine.analysis.regression.terms import PAPER

N_ROWS = 949_298
CLASSES = {"cifar-10": 10, "cifar-100": 100, "emnist": 62, "fashion-mnist": 10, "kmnist": 10, "mnist": 10, "svhn": 10}
NETWORKS = ("alexnet", "lenet", "resnet18", "vgg11")
TREATMENTS = ("finetune", "rewind")
TECHNIQUES = (
    "global_unstructured",
    "l1_structured",
    "l1_unstructured",
    "l2_structured",
    "linf_structured",
    "random_structured",
    "random_unstructured",
)
PUBLISHED = (
    *(0.6375, 0.0074, -0.4721, -0.1293, -0.1944, -0.0531, 0.0342, -0.0651, 0.1577, 0.0319, 0.0670),
    *(0.4721, 0.2405, 0.4781, 0.4807, 0.4925, 0.3984, -0.1592, -0.0745, -0.1578, -0.1834, -0.2162, -0.2925),
    *(-0.5950, -0.0424, 0.1515, 0.0564, 0.0710, -0.0013, -0.0282, -0.2441, -0.1141, -0.2465, -0.2422, -0.2399, -0.1536),
    *(1.3942, 1.1384, -0.1827, -0.0826, -0.0178, -0.0842, -0.0967, -0.1374, -0.1687, -0.0098, 1.2429, -0.0237),
    *(-0.1907, 0.0261),
)
"""Paganini 2020, Appendix D, in the order of its table."""


@dataclass(frozen=True)
class Size:
    """How many runs and rows there are; the default comes close to the paper's, the last rows are cut off."""

    n_rows: int = N_ROWS
    n_seeds: int = 4
    n_levels: int = 20
    most_classes: int = 100


def made_population(size: Size = Size(), seed: int = 0) -> tuple[Population, np.ndarray]:
    """A population in the paper's order, and its true coefficients.

    Accuracies are not held within 0 and 1, so that the linear model is true. Their errors grow with sparsity, and
    neighbours' are correlated, as the classes of one network are.
    """
    random = np.random.default_rng(seed)
    table = _design_table(random, size).iloc[: size.n_rows].reset_index(drop=True)
    table["quartile"] = quartile(table["accuracy0"].to_numpy())
    truth = np.array(PUBLISHED)
    shock = random.normal(0, 1, len(table) + 1)
    spread = 0.1 + 0.1 * table["sparsity"].to_numpy()
    error = spread * (shock[1:] + 0.3 * shock[:-1]) / np.sqrt(1.09)
    accuracy = layout(table, PAPER).design(table).times(truth) + error
    return Population(table.assign(accuracy=accuracy)), truth


def _design_table(random: np.random.Generator, size: Size) -> pd.DataFrame:
    """Every run's levels and classes, row by row as the population orders them."""
    table = pd.concat([_rows(random, size, number) for number in range(len(CLASSES))], ignore_index=True)
    names = {"dataset": CLASSES, "network": NETWORKS, "treatment": TREATMENTS, "technique": TECHNIQUES}
    for column, values in names.items():
        table[column] = pd.Categorical.from_codes(table[column], categories=list(values))
    runs = [f"{number:012x}" for number in range(table["run"].max() + 1)]
    return table.assign(run=pd.Categorical.from_codes(table["run"], categories=runs))


def _rows(random: np.random.Generator, size: Size, number: int) -> pd.DataFrame:
    """The rows of one data set, categories as numbers."""
    n_classes = min(list(CLASSES.values())[number], size.most_classes)
    n_runs = len(NETWORKS) * len(TREATMENTS) * len(TECHNIQUES) * size.n_seeds
    share = random.dirichlet(np.full(n_classes, 20.0))
    entropy = random.uniform(1, 7, n_classes)
    start = np.clip(random.normal(0.85, 0.1, (n_runs, n_classes)), 0.05, 1)
    run, level, name = (axis.ravel() for axis in np.indices((n_runs, size.n_levels, n_classes)))
    kind = run // size.n_seeds
    return pd.DataFrame(
        {
            "dataset": np.full(run.size, number),
            "network": kind // (len(TREATMENTS) * len(TECHNIQUES)),
            "treatment": kind // len(TECHNIQUES) % len(TREATMENTS),
            "technique": kind % len(TECHNIQUES),
            "run": number * n_runs + run,
            "seed": run % size.n_seeds,
            "level": level + 1,
            "class": name,
            "sparsity": 1 - 0.8 ** (level + 1.0),
            "accuracy0": start[run, name],
            "imbalance": (share - 1 / n_classes)[name],
            "entropy": entropy[name],
        }
    )
