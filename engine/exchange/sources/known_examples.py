"""What a study holds already, as an import collects it: so that models of new files join its runs."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from engine.analysis.example_columns import example_ids
from engine.exchange.cells import FACTS
from engine.exchange.example_set import ExampleSet, ModelKey, PredictionBatch, Vocabulary
from engine.exchange.mapping import IDENTITY
from engine.run_spec import IMPORTED
from engine.store.run_files import RunRecord
from engine.store.study import Study, examples_name

SHARED = "dense"
"""Technique of a dense model that serves every run of its network and seed."""


def is_imported(record: RunRecord) -> bool:
    """Whether a run came from files, so that models may join it."""
    return "imported" in record.provenance and record.spec.schedule == IMPORTED


def imported_runs(study: Study) -> dict[tuple[str, str], dict[str, RunRecord]]:
    """The runs that came from files, by data set and split."""
    found: dict[tuple[str, str], dict[str, RunRecord]] = {}
    for key in study.runs():
        record = study.run_record(key)
        if is_imported(record):
            found.setdefault((record.spec.dataset, record.spec.split), {})[key] = record
    return found


def known_sets(study: Study) -> list[ExampleSet]:
    """The examples of the study's imported runs and what their models predict, as if their files were read again."""
    return [_known_set(study, *names, records) for names, records in imported_runs(study).items()]


def example_orders(study: Study) -> dict[tuple[str, str], list[str]]:
    """Data set and split -> ids of the examples in the study's order, for every set of imported runs."""
    runs = imported_runs(study)
    names = {pair: examples_name(next(iter(records.values())).spec) for pair, records in runs.items()}
    return {pair: example_ids(study.examples(name)).tolist() for pair, name in names.items()}


def _known_set(study: Study, dataset: str, split: str, records: Mapping[str, RunRecord]) -> ExampleSet:
    name = examples_name(next(iter(records.values())).spec)
    examples, classes = study.examples(name), study.class_facts(name)["name"].astype(str).tolist()
    known = ExampleSet(dataset, split, tuple(classes), is_known=True)
    n = len(examples)
    known.ids = _vocabulary(example_ids(examples))
    known.labels, known.predicted = _vocabulary(classes), _vocabulary(classes)
    known.label = np.array(examples["label"], np.int64)
    known.said_in["label"] = np.zeros(n, np.int64)
    for column in examples.columns.difference(["example", "example_id", "label"], sort=False):
        known.said_in[column] = np.zeros(n, np.int64)
        if pd.api.types.is_float_dtype(examples[column]):
            known.attributes[column] = np.array(examples[column], float)
            continue
        texts = examples[column].astype("str").where(examples[column].notna(), None)
        known.group_names[column] = _vocabulary(text for text in texts.unique() if text is not None)
        number = known.group_names[column].number
        known.groups[column] = np.array([-1 if text is None else number[text] for text in texts], np.int64)
    _add_models(study, known, records)
    return known


def _vocabulary(texts: Iterable[str]) -> Vocabulary:
    vocabulary = Vocabulary()
    vocabulary.number = {str(text): number for number, text in enumerate(texts)}
    vocabulary.rows = [0] * len(vocabulary.number)
    return vocabulary


def _add_models(study: Study, known: ExampleSet, records: Mapping[str, RunRecord]) -> None:
    dense: dict[tuple[str, int], dict[str, bytes]] = {}
    tables: dict[str, tuple[pd.DataFrame, np.ndarray, dict[str, np.ndarray], pd.DataFrame]] = {}
    for key, record in records.items():
        levels, (_, matrix) = study.run_table(key, "levels", record), study.prediction_matrix(key)
        answers, shape = study.predictions(key), (len(levels), -1)
        scores = {
            name: answers[name].to_numpy().reshape(shape) for name in ("probability", "margin") if name in answers
        }
        sizes = (
            study.run_table(key, "sizes", record) if "sizes.parquet" in record.files else pd.DataFrame({"level": []})
        )
        tables[key] = levels, matrix, scores, sizes.set_index("level")
        if levels["level"].iloc[0] == 0:
            dense.setdefault((record.spec.network, record.spec.seed), {})[key] = matrix[0].tobytes()
    for key, record in records.items():
        spec, (levels, matrix, scores, sizes) = record.spec, tables[key]
        own = dense.get((spec.network, spec.seed), {})
        counted = _is_counted(levels)
        for place, row in enumerate(levels.to_dict("records")):
            is_shared = row["level"] == 0 and len(set(own.values())) == 1
            if is_shared and key != min(own):
                continue  # the same model is in another run
            facts = {name: getattr(spec, name) for name in IDENTITY[2:]} | ({"technique": SHARED} if is_shared else {})
            costs = sizes.loc[row["level"]].dropna().to_dict() if row["level"] in sizes.index else {}
            key_of_model = _model_key(facts, spec.seed, {"bits": costs.pop("bits", np.nan), **row}, counted)
            number = known.models.setdefault(key_of_model, len(known.models))
            for fact in set(FACTS).intersection(costs):
                known.facts.setdefault(fact, {})[number] = float(costs[fact])
            everywhere = np.arange(len(known.label), dtype=np.int32)
            batch_scores = {name: values[place] for name, values in scores.items()}
            batch_scores["row"] = np.zeros(len(everywhere), np.int64)
            answers = matrix[place].astype(np.int32)
            known.batches.append(
                PredictionBatch(0, np.full(len(everywhere), number, np.int32), everywhere, answers, batch_scores)
            )


def _is_counted(levels: pd.DataFrame) -> bool:
    """Whether the levels are those that an import counts from the sparsities."""
    ordered = levels.sort_values("sparsity", kind="stable")["level"].tolist()
    return ordered == list(range(ordered[0], ordered[0] + len(ordered))) and ordered[0] in (0, 1)


def _model_key(facts: Mapping[str, str], seed: int, row: Mapping[str, Any], counted: bool) -> ModelKey:
    """What tells the model from others, with nothing that the first import made up."""
    asked = None if row["sparsity_asked"] == row["sparsity"] else float(row["sparsity_asked"])
    numbers = [
        None if pd.isna(row[name]) else float(row[name])
        for name in ("validation_accuracy", "n_weights", "n_kept", "bits")
    ]
    level = None if counted else float(row["level"])
    return ("", *facts.values(), float(seed), level, float(row["sparsity"]), asked, *numbers)
