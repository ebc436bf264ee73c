"""The examples that a study keeps of a run's data: written once, and every later run must have the same."""

import numpy as np
import pandas as pd

from engine.datasets.attributes import class_table, example_table
from engine.datasets.dataset import Dataset
from engine.errors import PruneScopeError
from engine.run_spec import RunSpec
from engine.runs.workspace import Workspace
from engine.store.study import Study, examples_name


def keep_examples(study: Study, spec: RunSpec, workspace: Workspace) -> None:
    """Write the tables of examples, test and training side, and the class facts where the study lacks them.

    Data that differ from those that the study has by this name are refused.
    """
    name = examples_name(spec)
    if name not in study.example_sets():
        facts = class_table(workspace.dataset)
        if spec.imbalance != 1:
            facts = facts.assign(n_available=facts["n_train"], n_train=workspace.class_sizes())
        study.write_examples(name, example_table(workspace.dataset), facts, workspace.data_digest)
    if name not in study.training_sets():
        study.write_training_examples(name, workspace.training_table())
    if difference := _difference(study, name, workspace):
        raise PruneScopeError(
            f"The data set {name!r} is no longer what the runs of {study.path} were made with: {difference}. Put the "
            "old data back, or run into another study."
        )


def _difference(study: Study, name: str, workspace: Workspace) -> str:
    """What of the data set differs from what the study keeps of it, in words; empty where nothing does.

    Studies of older engines keep no digest: labels and groups are compared all the same.
    """
    if study.data_digest(name) == workspace.data_digest:
        return ""
    data: Dataset = workspace.dataset
    pairs = (
        ("test", study.examples(name), pd.concat([_labels(data.test.labels), data.test.groups], axis=1)),
        ("training", study.training_examples(name), workspace.training_table()),
    )
    names = study.class_facts(name)["name"].astype(str).tolist()
    if names != list(data.classes):
        return f"its classes were {', '.join(names[:10])} and are {', '.join(data.classes[:10])}"
    for side, kept, now in pairs:
        if len(kept) != len(now):
            return f"it had {len(kept):,} {side} examples and has {len(now):,}"
        for column in now:
            if column not in kept:
                return f"its group {column!r} is new"
            n_other = int((kept[column].astype(str).to_numpy() != now[column].astype(str).to_numpy()).sum())
            if n_other:
                what = "another label" if column == "label" else f"another {column}"
                return f"{n_other:,} of its {len(now):,} {side} examples have {what}"
    return "its images have changed" if study.data_digest(name) else ""


def _labels(labels: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"label": labels})
