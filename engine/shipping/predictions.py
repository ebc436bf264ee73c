"""The answers of the shipped model and of its baseline, as a table that `gate` and `import` read."""

import numpy as np
import pandas as pd

from engine.run_spec import RunSpec
from engine.store.study import Study, examples_name

PREDICTIONS = "predictions.parquet"


def answers_of(study: Study, run: str, level: int) -> np.ndarray:
    """What the study has recorded of a run at a level: one class per test example."""
    levels, matrix = study.prediction_matrix(run)
    answers: np.ndarray = matrix[levels == level][0]
    return answers


def sparsity_of(study: Study, run: str, level: int) -> float:
    """The share of weights that are cut there."""
    return float(study.run_table(run, "levels").set_index("level")["sparsity"][level])


def prediction_rows(study: Study, spec: RunSpec, sparsity: float, models: dict[str, np.ndarray]) -> pd.DataFrame:
    """One row per model and test example, with classes by name and the example's groups.

    `models` holds the answers of "model" and, where there is one, of "baseline", which stands as dense.
    """
    name = examples_name(spec)
    examples, classes = study.examples(name), study.class_facts(name)["name"].astype(str).to_numpy()
    groups = examples.drop(columns=["example", "label"], errors="ignore").select_dtypes(exclude="floating")
    parts = []
    for role, answers in models.items():
        is_model = role == "model"
        facts = {
            "model": role,
            "technique": spec.technique if is_model else "dense",
            "sparsity": sparsity if is_model else 0.0,
            "seed": spec.seed,
            "example": np.arange(len(examples)),
            "label": classes[examples["label"].to_numpy()],
            "prediction": classes[answers],
        }
        parts.append(pd.DataFrame({**facts, **{str(column): groups[column].astype(str) for column in groups}}))
    return pd.concat(parts, ignore_index=True)
