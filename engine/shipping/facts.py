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
from engine.shipping.shipped_record import GroupRow, Shipped
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
    for name in ("milliseconds", "cuda_milliseconds"):
        facts[name] = {f"batch_{batch}": timing for batch, timing in facts[name].items()}
    return facts


def measure_rows(shipped: Shipped) -> list[dict[str, Any]]:
    """What a shipped model took, as the study's table of measures has it."""
    rows = []
    for name, device in (("milliseconds", shipped.timed_on), ("cuda_milliseconds", "cuda")):
        for batch, timing in shipped.costs.get(name, {}).items():
            rows.append(
                {
                    "run": shipped.run,
                    "level": shipped.level,
                    "batch": int(batch.removeprefix("batch_")),
                    "device": device,
                    "milliseconds": timing["median"],
                    "low": timing["low"],
                    "high": timing["high"],
                    "dense_milliseconds": shipped.dense_costs[name][batch]["median"],
                    "measured": shipped.made,
                }
            )
    return rows


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
