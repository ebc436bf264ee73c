"""What is found out about a model that is shipped: who pays, where it comes from, what it was made with."""

import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch

import engine
from engine.analysis.example_columns import group_columns
from engine.run_spec import settings
from engine.shipping.model.measure import Costs
from engine.shipping.shipped_record import GroupRow
from engine.shipping.trained import Trained
from engine.store.study import Study, examples_name


@dataclass(frozen=True, eq=False)
class Compared:
    """The recorded answers of the model and of its baseline, and where the baseline comes from."""

    answers: np.ndarray
    baseline: np.ndarray | None
    baseline_run: str
    baseline_level: int


def group_rows(examples: pd.DataFrame, class_names: Sequence[str], compared: Compared) -> list[GroupRow]:
    """Accuracy of every class, and of every group that the examples name."""
    labels = examples["label"].to_numpy()
    right = compared.answers == labels
    before = None if compared.baseline is None else compared.baseline == labels
    groupings = {"class": np.asarray(class_names)[labels]}
    groupings |= {name: examples[name].astype(str).to_numpy() for name in group_columns(examples)}
    rows = []
    for grouping, members in groupings.items():
        for group in dict.fromkeys(class_names) if grouping == "class" else sorted(set(members)):
            here = members == group
            if here.any():
                was = None if before is None else float(before[here].mean())
                rows.append(GroupRow(grouping, str(group), int(here.sum()), was, float(right[here].mean())))
    return rows


def cost_facts(costs: Costs) -> dict[str, Any]:
    """Costs as the record says them."""
    facts = asdict(costs)
    timed = {f"batch_{batch}": asdict(timing) for batch, timing in costs.milliseconds.items()}
    return {**{name: value for name, value in facts.items() if name != "milliseconds"}, "milliseconds": timed}


def origin(study: Study, trained: Trained, run: str) -> dict[str, Any]:
    """Where the model comes from, by the names of the record."""
    name = examples_name(trained.spec)
    return {
        "prunescope": engine.__version__,
        "study": str(study.info.get("title", study.path.name)),
        "run": run,
        "level": trained.level,
        "settings": settings(trained.spec),
        "classes": study.class_facts(name)["name"].astype(str).tolist(),
        "image_shape": list(trained.workspace.test.images.shape[1:]),
        "provenance": study.run_record(run).provenance,
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """What the files were made with."""
    found = {"python": platform.python_version(), "torch": str(torch.__version__)}
    for name in ("onnx", "onnxruntime"):
        try:
            found[name] = __import__(name).__version__
        except ImportError:
            continue
    return found
