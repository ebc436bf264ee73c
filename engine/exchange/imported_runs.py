"""Imported runs: the settings of each, its models by level, and the tables that it is kept as."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from engine.errors import PruneScopeError
from engine.exchange.cells import refused, shown
from engine.exchange.example_set import ExampleSet, PredictionTable
from engine.exchange.mapping import DENSE, IDENTITY, MODEL_NUMBERS, ColumnMapping
from engine.run_spec import RunSpec
from engine.store.run_tables import LevelResult, run_tables
from engine.store.study import Study

RUN = ("run", *IDENTITY[2:], "seed")
"""What tells one run from another."""
MODEL = ("run", *IDENTITY[2:], *MODEL_NUMBERS)
"""What tells one model from another: columns of `PredictionTable.models`."""
RunKey = tuple[Any, ...]


def run_specs(collected: ExampleSet, models: pd.DataFrame, mapping: ColumnMapping) -> dict[RunKey, RunSpec]:
    """The settings of each run, by its identity; dense models serve the other runs of their network and seed."""
    runs = [tuple(values) for values in models[list(RUN)].drop_duplicates().itertuples(index=False)]
    pruned = models[~models["technique"].isin(DENSE)]
    served = set(zip(pruned["network"], pruned["seed"], strict=True))
    specs: dict[RunKey, RunSpec] = {}
    for run in runs:
        facts = dict(zip(RUN, run, strict=True))
        if facts["technique"] in DENSE and (facts["network"], facts["seed"]) in served:
            continue
        specs[run] = _spec(collected, facts, mapping)
    keys = [spec.key for spec in specs.values()]
    if len(set(keys)) < len(keys):
        raise PruneScopeError("Two runs have the same settings; tell them apart by technique, network or seed.")
    return specs


def _spec(collected: ExampleSet, facts: dict[str, Any], mapping: ColumnMapping) -> RunSpec:
    own: dict[str, Any] = {"dataset": collected.dataset, "split": collected.split, "seed": int(facts["seed"])}
    own |= {name: str(facts[name]) for name in IDENTITY[2:]}
    if facts["run"] not in mapping.runs:
        return RunSpec(**own, schedule="imported", epochs=0)
    spec = mapping.runs[facts["run"]]
    for name, value in own.items():
        if getattr(spec, name) != value:
            raise refused(
                name,
                None,
                f"the rows of run {shown(facts['run'])} say {shown(value)}, its settings {getattr(spec, name)!r}.",
            )
    return spec


def _levels(models: pd.DataFrame, run: RunKey) -> pd.DataFrame:
    """The models of a run by level, the dense one of another run first where it has none of its own."""
    facts = dict(zip(RUN, run, strict=True))
    same = np.ones(len(models), bool)
    for name, value in facts.items():
        same &= (models[name] == value).to_numpy()
    rows = models[same]
    if (
        (rows["level"] == 0) & (rows["sparsity"] > 0)
    ).any():  # steps counted from 0: level 0 is dense, and nothing else
        rows = rows.assign(level=rows["level"] + 1)
    if not (rows["sparsity"] == 0).any() and not (rows["level"] == 0).any():
        dense = models["technique"].isin(DENSE) & (models["network"] == facts["network"])
        dense &= (models["seed"] == facts["seed"]) & (models["sparsity"] == 0)
        rows = pd.concat([models[dense.to_numpy()].assign(level=0.0).head(1), rows])
    rows = rows.sort_values("sparsity", kind="stable")
    if rows["level"].isna().any():
        begin = 0 if (rows["sparsity"] == 0).any() else 1
        rows = rows.assign(level=np.arange(begin, begin + len(rows)))
    rows = rows.sort_values("level", kind="stable")
    twice = rows["level"].duplicated()
    if twice.any():
        run_name = f"technique {facts['technique']!r}, seed {facts['seed']:g}"
        raise refused("level", None, f"{rows.loc[twice, 'level'].iloc[0]:g} stands for two models of {run_name}.")
    return rows


def write_imported_run(
    study: Study, spec: RunSpec, table: PredictionTable, run: RunKey, source: Mapping[str, str]
) -> int:
    """Number of models of the run, which is written; counts of weights that nobody says are missing in its levels."""
    model_rows = _levels(table.models, run)
    labels = table.examples["label"].to_numpy()
    keep_scores = {"probability", "margin"} <= set(table.scores)
    results = [
        _level_result(table, model, row, keep_scores)
        for model, row in zip(model_rows.index, model_rows.itertuples(), strict=True)
    ]
    tables = run_tables(results, labels, len(table.classes), keep_scores)
    counted = model_rows["n_weights"].notna().to_numpy() & model_rows["n_kept"].notna().to_numpy()
    levels = tables.levels.assign(sparsity=model_rows["sparsity"].to_numpy(float))
    for name in ("n_weights", "n_kept"):
        levels[name] = pd.array(np.where(counted, levels[name], 0), dtype="Int64")
        levels.loc[~counted, name] = pd.NA
    study.write_run(spec, replace(tables, levels=levels), source)
    return len(model_rows)


def _level_result(table: PredictionTable, model: int, row: Any, keep_scores: bool) -> LevelResult:
    """What the model in a row of the table's models predicts, as a level."""
    blank = np.full(len(table.examples), np.nan)
    counted = _number(row.n_weights) > 0 and not np.isnan(_number(row.n_kept))
    asked = _number(row.sparsity_asked)
    return LevelResult(
        level=int(row.level),
        sparsity_asked=float(row.sparsity) if np.isnan(asked) else asked,
        n_weights=int(row.n_weights) if counted else 1,
        n_kept=int(row.n_kept) if counted else 1,
        validation_accuracy=_number(row.validation_accuracy),
        prediction=table.prediction[model],
        probability=table.scores["probability"][model] if keep_scores else blank,
        margin=table.scores["margin"][model] if keep_scores else blank,
        loss=_loss(table.scores, model, blank),
    )


def _loss(scores: Mapping[str, np.ndarray], model: int, blank: np.ndarray) -> np.ndarray:
    """The model's loss on each example, where it is not given that of its probability of the true class."""
    if "loss" in scores:
        return np.asarray(scores["loss"][model])
    if "probability" not in scores:
        return blank
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(np.maximum(scores["probability"][model].astype(float), 1e-7)))


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)
