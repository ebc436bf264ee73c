"""Who pays for pruning among the faces: groups of people beside the total, against the same training unpruned."""

import numpy as np
import pandas as pd

from docs.made.study import Demo
from engine.analysis.uncertainty.clusters import clustered_rates, layout
from engine.analysis.uncertainty.simultaneous import confidence_of_each
from engine.store.study import examples_name
from pages.shared import formats

FACES = {"dataset": "utkface", "technique": "global_unstructured", "protocol": "target gender", "mitigation": "none"}
SPARSITY, COLUMNS = 0.98, ("ethnicity", "age")
"""Named before any test result was looked at: the sparsest cut, and the groups of people that the data set has."""


def faces_finding(demo: Demo) -> str:
    """What cutting 98 % costs the group of faces hit hardest for sure, or that none can be told; empty without runs."""
    changes = _changes(demo)
    if changes is None:
        return ""
    values, examples = changes
    low, rows = confidence_of_each(sum(examples[column].nunique() for column in COLUMNS)), []
    for column in COLUMNS:
        code, names = pd.factorize(examples[column])
        found = clustered_rates(values, layout(code, None, len(names)))
        ends = found.interval(float(low))
        rows += [
            (f"{column} {name}", value, *end, int((code == number).sum()))
            for number, (name, value, *end) in enumerate(zip(names, found.value, *ends, strict=True))
        ]
    table = pd.DataFrame(rows, columns=["group", "change", "low", "high", "n"]).sort_values("high")
    worst, total = table.iloc[0], formats.points(values.mean())
    opening = (
        f"On UTKFace, where a network tells men from women, global magnitude pruning to {formats.sparsity(SPARSITY)} "
        f"changes accuracy by {total} against the same training without pruning"
    )
    if worst["high"] >= values.mean():
        return (
            f"**Who pays among faces cannot be told yet.** {opening}; of {len(table)} groups by ethnicity and age none "
            f"surely loses more ({formats.seeds(len(values))})."
        )
    ends_words = " to ".join(formats.points(worst[end]).removesuffix(" pt") for end in ("low", "high"))
    return (
        f"**Some people pay for all.** {opening}, but that of faces of {worst['group']} by "
        f"{formats.points(worst['change'])} (95 % for all {len(table)} groups by ethnicity and age together: "
        f"{ends_words}; {formats.count(worst['n'])} test faces, {formats.seeds(len(values))}). Groups are what the "
        "data set's authors estimated, not what people say of themselves."
    )


def _changes(demo: Demo) -> tuple[np.ndarray, pd.DataFrame] | None:
    """Right after pruning less right without, (seeds, examples), and the examples; None where a side is missing."""
    at = np.isclose(demo.levels["sparsity"], SPARSITY, atol=1e-3)
    pruned = demo.of(demo.levels[at], **FACES).set_index("seed")
    trained = demo.of(demo.control_levels, **FACES | {"technique": "unpruned"})
    seeds = sorted(set(pruned.index) & set(trained["seed"]))
    if not seeds:
        return None
    rows, examples = [], pd.DataFrame()
    for seed in seeds:
        run, level = str(pruned.loc[seed, "run"]), int(pruned.loc[seed, "level"])
        control = str(trained.loc[trained["seed"] == seed, "run"].iloc[0])
        examples = demo.study.examples(examples_name(demo.study.run_record(run).spec))
        after, before = (_right(demo, key, level, examples) for key in (run, control))
        rows.append(after.astype(float) - before)
    return np.stack(rows), examples


def _right(demo: Demo, run: str, level: int, examples: pd.DataFrame) -> np.ndarray:
    levels, predictions = demo.study.prediction_matrix(run)
    return np.asarray(predictions[list(levels).index(level)] == examples["label"].to_numpy())
