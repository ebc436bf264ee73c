"""From examples as they were collected to a study of ordinary runs, staged in a folder of its own."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from engine.errors import PruneScopeError
from engine.exchange.cells import WHOLE, natural, refused, shown
from engine.exchange.example_set import FILE, ExampleSet, PredictionBatch, PredictionTable
from engine.exchange.imported_runs import MODEL, run_specs, runs_by_level, write_imported_run
from engine.exchange.limits import LIMITS
from engine.exchange.mapping import SCORES, ClassFacts, ColumnMapping
from engine.exchange.messages import ExampleSetSummary
from engine.store.run_tables import offset_type
from engine.store.study import Study, examples_name

_DIGITS = re.compile(r"(\d{1,15})")


def stage_runs(
    sets: list[ExampleSet], mapping: ColumnMapping, study: Study, source: Mapping[str, str]
) -> list[ExampleSetSummary]:
    """Write what was collected as runs of a new study; `source` says where it came from."""
    summaries = []
    for collected in sets:
        table = assemble_predictions(collected, mapping)
        runs = runs_by_level(table.models)
        specs = run_specs(collected, runs, mapping)
        names = {examples_name(spec) for spec in specs.values()}
        if len(names) != 1:
            raise PruneScopeError(
                f"The runs of {collected.dataset!r} name different examples: {', '.join(sorted(names))}."
            )
        study.write_examples(min(names), table.examples, table.classes)
        n_models = sum(write_imported_run(study, spec, table, runs[run], source) for run, spec in specs.items())
        summaries.append(_summary(min(names), table, len(specs), n_models))
    return summaries


def _summary(name: str, table: PredictionTable, n_runs: int, n_models: int) -> ExampleSetSummary:
    others = table.examples.drop(columns=["example", "label"])
    attributes = tuple(others.select_dtypes("floating").columns)
    groups = tuple(column for column in others if column not in attributes and column != "example_id")
    return ExampleSetSummary(name, len(table.examples), len(table.classes), n_runs, n_models, groups, attributes)


def assemble_predictions(collected: ExampleSet, mapping: ColumnMapping) -> PredictionTable:
    """Models down and examples across; a row that stands twice or is missing is refused."""
    names, class_of_label, class_of_prediction = _classes(collected, mapping)
    n_models, n_examples = len(collected.models), len(collected.label)
    if n_models * n_examples > LIMITS.cells:
        raise PruneScopeError(
            f"{n_models:,} models on {n_examples:,} examples are more than {LIMITS.cells:,} predictions."
        )
    _refuse_unlabelled(collected)
    order = _order(collected)
    position = np.empty(n_examples, np.int64)
    position[order] = np.arange(n_examples)
    filled = np.zeros(n_models * n_examples, bool)
    prediction = np.zeros(n_models * n_examples, offset_type(len(names)))
    roles = [role for role in SCORES if all(role in batch.scores for batch in collected.batches)]
    scores = {role: np.zeros(len(filled), np.float64 if role == "loss" else np.float16) for role in roles}
    for batch in collected.batches:
        cell = batch.model.astype(np.int64) * n_examples + position[batch.example]
        own_class = class_of_prediction[batch.prediction]
        if collected.is_known and (filled[cell] & (prediction[cell] == own_class)).any():
            new = ~(filled[cell] & (prediction[cell] == own_class))  # the study has these answers already
            batch, cell, own_class = batch.only(new), cell[new], own_class[new]
        _refuse_twice(collected, cell, filled, batch)
        filled[cell] = True
        prediction[cell] = own_class
        for role in roles:
            scores[role][cell] = batch.scores[role]
    models = pd.DataFrame(list(collected.models), columns=list(MODEL))
    for role, facts in collected.facts.items():
        models[role] = [facts.get(number, np.nan) for number in range(len(models))]
    if not filled.all():
        model, example = divmod(int(np.argmin(filled)), n_examples)
        raise _missing_row(collected, models.iloc[model], collected.ids.texts[order[example]])
    labels = class_of_label[collected.label[order]]
    shape = (n_models, n_examples)
    return PredictionTable(
        _examples(collected, order, labels),
        _class_table(names, labels, mapping),
        models,
        prediction.reshape(shape),
        {role: values.reshape(shape) for role, values in scores.items()},
    )


def _missing_row(collected: ExampleSet, model: pd.Series, example: str) -> PruneScopeError:
    facts = f"technique {model['technique']}, sparsity {model['sparsity']:g}, seed {model['seed']:g}"
    return refused(collected.prediction_column, None, f"the model {facts} has no row for example {shown(example)}.")


def _refuse_twice(collected: ExampleSet, cell: np.ndarray, filled: np.ndarray, batch: PredictionBatch) -> None:
    twice = filled[cell]
    if not twice.any():
        if (np.diff(cell) > 0).all():  # in order, as most files are
            return
        first_rows = np.unique(cell, return_index=True)[1]
        if len(first_rows) == len(cell):
            return
        twice = np.ones(len(cell), bool)
        twice[first_rows] = False
    number = int(np.argmax(twice))
    model, example = batch.model[number], batch.example[number]
    earlier = next(place for other in collected.batches for place in other.places(model, example))
    row = int(batch.rows[number]) % FILE
    raise refused(
        collected.prediction_column,
        row if len(collected.files) == 1 else collected.row_words(int(batch.rows[number])),
        f"example {shown(collected.ids.texts[example])} stands twice for the same model; the first time is "
        f"{collected.row_words(earlier)}.",
    )


def _refuse_unlabelled(collected: ExampleSet) -> None:
    lacking = np.flatnonzero(collected.label < 0)
    if len(lacking):
        example = collected.ids.texts[lacking[0]]
        raise PruneScopeError(
            f"Example {shown(example)} has no label; {len(lacking):,} of {len(collected.label):,} examples have none."
        )


def _order(collected: ExampleSet) -> np.ndarray:
    """The study's order where it has these examples; else by their names, numbers within them as numbers."""
    ids = collected.ids.texts
    if collected.is_known:
        return np.arange(len(ids))
    if collected.order is not None and set(collected.order) == set(ids):
        return np.array([collected.ids.number[text] for text in collected.order], np.int64)
    if all(WHOLE.match(text) for text in ids):
        return np.argsort(np.array([int(text) for text in ids]), kind="stable")
    return np.array(sorted(range(len(ids)), key=lambda number: _natural_key(ids[number])), np.int64)


def _natural_key(text: str) -> tuple[tuple[str, int], ...]:
    return tuple((part, 0) if not part.isdecimal() else ("", int(part)) for part in _DIGITS.split(text))


def _classes(collected: ExampleSet, mapping: ColumnMapping) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names of the classes, and the class of each label and each prediction that was seen."""
    names = list(collected.declared) or natural(collected.labels.texts)
    if len(names) > LIMITS.classes:
        raise PruneScopeError(f"The file has {len(names):,} classes; allowed are {LIMITS.classes:,}.")
    if len(set(names)) < len(names):
        raise PruneScopeError("A class stands twice under classes in the mapping.")
    number_of = {name: number for number, name in enumerate(names)}
    for vocabulary, column in (
        (collected.labels, mapping.columns.get("label", "label")),
        (collected.predicted, collected.prediction_column),
    ):
        for text in vocabulary.texts:
            if text not in number_of:
                why = "is none of the classes that the mapping names" if collected.declared else "is no example's label"
                way = "" if collected.declared else "; if it is a class all the same, list all classes in the mapping"
                place = vocabulary.rows[vocabulary.number[text]]
                row = place % FILE if len(collected.files) == 1 else collected.row_words(place)
                raise refused(column, row, f"{shown(text)} {why}{way}.")
    return (
        names,
        np.array([number_of[text] for text in collected.labels.texts], np.int64),
        np.array([number_of[text] for text in collected.predicted.texts], np.int64),
    )


def _examples(collected: ExampleSet, order: np.ndarray, labels: np.ndarray) -> pd.DataFrame:
    table: dict[str, Any] = {"example": np.arange(len(order)), "label": labels}
    texts_by_number = collected.ids.texts
    ids = [texts_by_number[number] for number in order]
    if ids != [str(number) for number in range(len(order))]:
        table["example_id"] = pd.Series(ids, dtype="str")
    for name, codes in collected.groups.items():
        texts = np.array([*collected.group_names[name].texts, None], dtype=object)
        values = texts[codes[order]]
        if (codes == -1).all():
            continue
        if all(text is not None and WHOLE.match(text) for text in texts[:-1]) and (codes >= 0).all():
            table[name] = np.array([int(value) for value in values], np.int64)
        else:
            table[name] = pd.Series(values, dtype="str")
    for name, numbers in collected.attributes.items():
        if not np.isnan(numbers).all():
            table[name] = numbers[order]
    return pd.DataFrame(table)


def _class_table(names: list[str], labels: np.ndarray, mapping: ColumnMapping) -> pd.DataFrame:
    facts = mapping.classes or tuple(ClassFacts(name) for name in names)
    return pd.DataFrame(
        {
            "class": np.arange(len(names)),
            "name": pd.Series(names, dtype="str"),
            "n_train": [fact.n_train for fact in facts],
            "n_test": np.bincount(labels, minlength=len(names)),
            "entropy": [np.nan if fact.entropy is None else fact.entropy for fact in facts],
        }
    )
