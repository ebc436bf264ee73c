"""Predictions as users bring them, and an import without a child for tests of what is in a file."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from engine.exchange import sandbox as process
from engine.exchange.limits import LIMITS, Limits
from engine.exchange.sandbox import Imported, Source
from engine.exchange.tasks import TASKS
from engine.store.study import Study

N = 40


def long_table(n: int = N, seeds: int = 2) -> pd.DataFrame:
    """Animals in two places; a dense network and two techniques at two sparsities, one row per model and example."""
    random = np.random.default_rng(0)
    labels = np.array(["cat", "dog", "owl"])[np.arange(n) % 3]
    facts = {
        "example": [f"img{number:03}" for number in range(n)],
        "label": labels,
        "place": np.where(np.arange(n) % 2, "farm", "<1 km from town"),
        "site": np.arange(n) % 5,
        "age": np.linspace(0.5, 9.5, n).round(3),
    }
    parts = []
    for seed in range(seeds):
        for technique, sparsity in (("dense", 0), ("magnitude", 0.5), ("magnitude", 0.9), ("random", 0.9)):
            wrong = random.random(n) < 0.1 + 0.3 * sparsity
            said = np.where(wrong, random.choice(["cat", "dog", "owl"], n), labels)
            model = {"prediction": said, "technique": technique, "sparsity": sparsity, "seed": seed}
            parts.append(pd.DataFrame(facts | model))
    return pd.concat(parts, ignore_index=True)


def wide_table() -> pd.DataFrame:
    """The same with one row per example and one column per model."""
    table = long_table()
    name = table["technique"] + "@" + table["sparsity"].astype(str) + "#" + table["seed"].astype(str)
    name = name.str.replace("dense@0.0", "dense")
    said = table.assign(model=name).pivot(index="example", columns="model", values="prediction")
    facts = table.drop_duplicates("example").set_index("example")[["label", "place", "site", "age"]]
    return facts.join(said).reset_index()


def in_process(
    task: str, source: Source, mapping: dict[str, Any] | None, limits: Limits = LIMITS, **more: str
) -> dict[str, Any]:
    """What the child would answer, without the child."""
    request = {"file": str(source.path), "name": source.name, "sidecar": source.sidecar and str(source.sidecar)}
    return TASKS[task](request | {"mapping": mapping or {}} | more)


def bring(path: Path, study: Study, mapping: dict[str, Any] | None = None, sidecar: Path | None = None) -> Imported:
    """Import a file in this process."""
    asked, process._ask = process._ask, in_process  # type: ignore[assignment]
    try:
        return process.import_file(Source(path, path.name, sidecar), study, mapping)
    finally:
        process._ask = asked


def study_content(study: Study) -> dict[str, bytes]:
    """Every file of a study, to tell whether it is as it was."""
    return {str(p.relative_to(study.path)): p.read_bytes() for p in sorted(study.path.rglob("*")) if p.is_file()}
