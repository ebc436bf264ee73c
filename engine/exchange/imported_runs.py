"""Imported runs: the settings of each, its models by level, and the tables that it is kept as."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from engine.errors import PruneScopeError
from engine.exchange.cells import FACTS, refused, shown
from engine.exchange.example_set import ExampleSet, PredictionTable
from engine.exchange.mapping import DEFAULTS, IDENTITY, MODEL_NUMBERS, ColumnMapping, names_dense
from engine.run_spec import RunSpec
from engine.store.parquet import to_parquet
from engine.store.run_tables import LevelResult, row_tables, run_columns
from engine.store.study import Study

RUN = ("run", *IDENTITY[2:], "seed")
"""What tells one run from another."""
MODEL = ("run", *IDENTITY[2:], *MODEL_NUMBERS)
"""What tells one model from another: columns of `PredictionTable.models`."""
RunKey = tuple[Any, ...]
FULL_BITS = 16
"""Weights of so many bits, or more, count as those of a network that is not compressed."""


class Leveled(NamedTuple):
    """A model of a run: its place among all models, its level, and what is said of it."""

    model: int
    level: int
    row: Any


def runs_by_level(models: pd.DataFrame) -> dict[RunKey, list[Leveled]]:
    """The models of each run by level; dense models serve the other runs of their network and seed."""
    rows = list(models.itertuples())
    members: dict[RunKey, list[Any]] = {}
    for row in rows:
        members.setdefault(tuple(getattr(row, name) for name in RUN), []).append(row)
    shared = {run for run, own in members.items() if len(own) == 1 and _is_shared(own[0])}
    unpruned = [row for own in members.values() for row in own if _is_dense(row) and names_dense(row.technique)]
    unpruned += [members[run][0] for run in shared]
    dense = {(row.network, row.seed): row for row in reversed(unpruned)}
    served = {(own[0].network, own[0].seed) for run, own in members.items() if run not in shared}
    return {
        run: _levels(run, own, dense.get((own[0].network, own[0].seed)))
        for run, own in members.items()
        if run not in shared or (own[0].network, own[0].seed) not in served
    }


def run_specs(
    collected: ExampleSet, runs: Mapping[RunKey, list[Leveled]], mapping: ColumnMapping
) -> dict[RunKey, RunSpec]:
    """The settings of each run, by its identity."""
    specs = {run: _spec(collected, dict(zip(RUN, run, strict=True)), mapping) for run in runs}
    if len({spec.key for spec in specs.values()}) < len(specs):
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


def _levels(run: RunKey, rows: list[Any], dense: Any) -> list[Leveled]:
    """The models of a run by level, the dense one of another run first where it has none of its own."""
    level = {row.Index: _number(row.level) for row in rows}
    if any(level[row.Index] == 0 and row.sparsity > 0 for row in rows):
        level = {index: number + 1 for index, number in level.items()}  # steps counted from 0: level 0 is dense alone
    has_dense = any(_is_dense(row) or level[row.Index] == 0 for row in rows)
    if dense is not None and not has_dense:
        rows, level, has_dense = [dense, *rows], level | {dense.Index: 0.0}, True
    rows = sorted(rows, key=lambda row: (not _is_dense(row), row.sparsity, -_bits(row)))
    if any(np.isnan(number) for number in level.values()):
        begin = 0 if has_dense else 1
        level = {row.Index: float(number) for number, row in enumerate(rows, begin)}
    found = sorted((Leveled(row.Index, int(level[row.Index]), row) for row in rows), key=lambda model: model.level)
    for earlier, later in pairwise(found):
        if earlier.level == later.level:
            facts = dict(zip(RUN, run, strict=True))
            run_name = f"technique {facts['technique']!r}, seed {facts['seed']:g}"
            raise refused("level", None, f"{later.level:g} stands for two models of {run_name}.")
    return found


def _is_shared(row: Any) -> bool:
    """Whether a run's only model is dense, and its technique says so or nothing."""
    says_nothing = row.technique == DEFAULTS["technique"] and not row.run
    return _is_dense(row) and (names_dense(row.technique) or says_nothing)


def _is_dense(row: Any) -> bool:
    """Whether a model is neither pruned nor of few bits."""
    return bool(row.sparsity == 0 and _bits(row) >= FULL_BITS)


def _bits(row: Any) -> float:
    bits = _number(getattr(row, "bits", None))
    return np.inf if np.isnan(bits) else bits


def write_imported_run(
    study: Study, spec: RunSpec, table: PredictionTable, models: Sequence[Leveled], source: Mapping[str, str]
) -> int:
    """Number of models of the run, which is written; counts of weights that nobody says are missing in its levels."""
    keep_scores = {"probability", "margin"} <= set(table.scores)
    results = [_level_result(table, model, keep_scores) for model in models]
    columns = run_columns(results, table.labels, len(table.classes), keep_scores)
    unknown = np.array([not _is_counted(model.row) for model in models])
    levels = columns.levels | {"sparsity": np.array([float(model.row.sparsity) for model in models])}
    for name in ("n_weights", "n_kept"):
        levels[name] = pa.array(levels[name], pa.int64(), mask=unknown)
    extra = {f"{kind}.parquet": to_parquet(rows, kind) for kind, rows in row_tables(results).items()}
    study.write_run(spec, replace(columns, levels=levels), source, extra)
    return len(models)


def _is_counted(row: Any) -> bool:
    """Whether the number of weights, and of those that are left, is said."""
    return not np.isnan(_number(row.n_weights)) and not np.isnan(_number(row.n_kept))


def _level_result(table: PredictionTable, leveled: Leveled, keep_scores: bool) -> LevelResult:
    """What the model in a row of the table's models predicts, as a level."""
    model, level, row = leveled
    blank = np.full(len(table.labels), np.nan)
    counted = _is_counted(row) and _number(row.n_weights) > 0
    asked = _number(row.sparsity_asked)
    facts = {role: _number(getattr(row, role, None)) for role in FACTS}
    facts = {role: value for role, value in facts.items() if not np.isnan(value)}
    return LevelResult(
        level=level,
        sparsity_asked=float(row.sparsity) if np.isnan(asked) else asked,
        n_weights=int(row.n_weights) if counted else 1,
        n_kept=int(row.n_kept) if counted else 1,
        validation_accuracy=_number(row.validation_accuracy),
        prediction=table.prediction[model],
        probability=table.scores["probability"][model] if keep_scores else blank,
        margin=table.scores["margin"][model] if keep_scores else blank,
        loss=_loss(table.scores, model, blank),
        sizes=(facts,) if facts else (),
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
