"""Predictions as users bring them, and an import without a child for tests of what is in a file."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from engine.exchange import sandbox
from engine.exchange.messages import Answer, Request, decode_answer, decode_request, encode
from engine.exchange.sandbox import Imported, Source
from engine.exchange.sidecar import mapping_from_json
from engine.exchange.tasks import perform
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
            prediction = np.where(wrong, random.choice(["cat", "dog", "owl"], n), labels)
            model = {"prediction": prediction, "technique": technique, "sparsity": sparsity, "seed": seed}
            parts.append(pd.DataFrame(facts | model))
    return pd.concat(parts, ignore_index=True)


def wide_table() -> pd.DataFrame:
    """The same with one row per example and one column per model."""
    table = long_table()
    name = table["technique"] + "@" + table["sparsity"].astype(str) + "#" + table["seed"].astype(str)
    name = name.str.replace("dense@0.0", "dense")
    predictions = table.assign(model=name).pivot(index="example", columns="model", values="prediction")
    facts = table.drop_duplicates("example").set_index("example")[["label", "place", "site", "age"]]
    return facts.join(predictions).reset_index()


def answer_here(request: Request, source: Source) -> Answer:
    """What the child would answer, without the child; both messages go through JSON as they do between processes."""
    return decode_answer(encode(perform(decode_request(encode(request)))))


def bring(path: Path, study: Study, mapping: dict[str, Any] | None = None, sidecar: Path | None = None) -> Imported:
    """Import a file in this process."""
    ask_child, sandbox.ask_child = sandbox.ask_child, answer_here
    try:
        return sandbox.import_file(Source(path, path.name, sidecar), study, mapping_from_json(mapping or {}))
    finally:
        sandbox.ask_child = ask_child


def study_content(study: Study) -> dict[str, bytes]:
    """Every file of a study, to tell whether it is as it was."""
    return {str(p.relative_to(study.path)): p.read_bytes() for p in sorted(study.path.rglob("*")) if p.is_file()}
