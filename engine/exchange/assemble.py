"""From what was gathered to a study of ordinary runs, staged in a folder of its own."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd

from engine.errors import PruneScopeError
from engine.exchange.cells import WHOLE, natural
from engine.exchange.collect import Gathering
from engine.exchange.limits import LIMITS
from engine.exchange.mapping import DENSE, IDENTITY, MODEL_NUMBERS, ColumnMapping
from engine.exchange.refusal import refused, shown
from engine.run_spec import RunSpec, spec_from_settings
from engine.store.run_tables import LevelResult, offset_type, run_tables
from engine.store.study import Study, examples_name

KEY = ("run", *IDENTITY[2:], *MODEL_NUMBERS)
RUN = ("run", *IDENTITY[2:], "seed")


@dataclass(frozen=True, eq=False)
class Tested:
    """The examples of a data set, and what each model says of them: (n_models, n_examples)."""

    examples: pd.DataFrame
    classes: pd.DataFrame
    models: pd.DataFrame
    prediction: np.ndarray
    scores: dict[str, np.ndarray]


@dataclass(frozen=True)
class Summary:
    """What an import holds, for a sentence."""

    example_set: str
    n_examples: int
    n_classes: int
    n_runs: int
    n_models: int
    groups: tuple[str, ...]
    attributes: tuple[str, ...]


def stage(gathered: list[Gathering], plan: ColumnMapping, study: Study, source: Mapping[str, Any]) -> list[Summary]:
    """Write what was gathered as runs of a new study; `source` says where it came from."""
    summaries = []
    for found in gathered:
        tested = lined_up(found, plan)
        spec_of = _specs(found, tested.models, plan)
        names = {examples_name(spec) for spec in spec_of.values()}
        if len(names) != 1:
            raise PruneScopeError(f"The runs of {found.dataset!r} name different examples: {', '.join(sorted(names))}.")
        name = names.pop()
        study.write_examples(name, tested.examples, tested.classes)
        for run, spec in spec_of.items():
            _write(study, spec, tested, _levels(tested.models, run), source)
        others = tested.examples.drop(columns=["example", "label"])
        attributes = tuple(others.select_dtypes("floating").columns)
        groups = tuple(c for c in others if c not in attributes and c != "example_id")
        n_models = int(sum(len(_levels(tested.models, run)) for run in spec_of))
        summaries.append(
            Summary(name, len(tested.examples), len(tested.classes), len(spec_of), n_models, groups, attributes)
        )
    return summaries


def lined_up(found: Gathering, plan: ColumnMapping) -> Tested:
    """Models down and examples across; a row that stands twice or is missing is refused."""
    names, class_of_label, class_of_prediction = _classes(found, plan)
    n_models, n_examples = len(found.models), len(found.label)
    if n_models * n_examples > LIMITS.cells:
        raise PruneScopeError(
            f"{n_models:,} models on {n_examples:,} examples are more than {LIMITS.cells:,} predictions."
        )
    order = _order(found.ids.texts)
    place = np.empty(n_examples, np.int64)
    place[order] = np.arange(n_examples)
    seen = np.zeros(n_models * n_examples, bool)
    prediction = np.zeros(n_models * n_examples, offset_type(len(names)))
    roles = [role for role in ("probability", "margin", "loss") if all(role in part.scores for part in found.parts)]
    scores = {role: np.zeros(len(seen), np.float64 if role == "loss" else np.float16) for role in roles}
    for part in found.parts:
        cell = part.model.astype(np.int64) * n_examples + place[part.example]
        _refuse_twice(found, cell, seen, part.scores.get("row", part.first_row + np.arange(len(cell))))
        seen[cell] = True
        prediction[cell] = class_of_prediction[part.prediction]
        for role in roles:
            scores[role][cell] = part.scores[role]
    models = pd.DataFrame(list(found.models), columns=list(KEY))
    if not seen.all():
        model, example = divmod(int(np.argmin(seen)), n_examples)
        words = ", ".join(f"{name} {models.iloc[model][name]}" for name in ("technique", "sparsity", "seed"))
        raise refused(
            found.prediction_column,
            None,
            f"the model {words} has no row for example {shown(found.ids.texts[order[example]])}.",
        )
    labels = class_of_label[found.label[order]]
    shape = (n_models, n_examples)
    return Tested(
        _examples(found, order, labels),
        _class_facts(names, labels, plan),
        models,
        prediction.reshape(shape),
        {role: values.reshape(shape) for role, values in scores.items()},
    )


def _refuse_twice(found: Gathering, cell: np.ndarray, seen: np.ndarray, rows: np.ndarray) -> None:
    twice = seen[cell]
    if not twice.any():
        first = np.unique(cell, return_index=True)[1]
        if len(first) == len(cell):
            return
        twice = np.ones(len(cell), bool)
        twice[first] = False
    at = int(np.argmax(twice))
    example = found.ids.texts[_order(found.ids.texts)[int(cell[at]) % len(found.label)]]
    raise refused(found.prediction_column, int(rows[at]), f"example {shown(example)} stands twice for the same model.")


def _order(ids: list[str]) -> np.ndarray:
    """Examples numbered 0 to n - 1 go in that order, all others as they came."""
    if all(WHOLE.match(text) for text in ids):
        values = np.array([int(text) for text in ids])
        if np.array_equal(np.sort(values), np.arange(len(values))):
            return np.argsort(values)
    return np.arange(len(ids))


def _classes(found: Gathering, plan: ColumnMapping) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names of the classes, and the class of each label and each prediction that was seen."""
    names = list(found.declared) or natural(found.labels.texts)
    if len(names) > LIMITS.classes:
        raise PruneScopeError(f"The file has {len(names):,} classes; allowed are {LIMITS.classes:,}.")
    if len(set(names)) < len(names):
        raise PruneScopeError("A class stands twice under classes in the mapping.")
    number = {name: place for place, name in enumerate(names)}
    for words, column in (
        (found.labels, plan.columns.get("label", "label")),
        (found.predicted, found.prediction_column),
    ):
        for text in words.texts:
            if text not in number:
                why = "is none of the classes that the mapping names" if found.declared else "is no example's label"
                way = "" if found.declared else "; if it is a class all the same, list all classes in the mapping"
                raise refused(column, words.rows[text], f"{shown(text)} {why}{way}.")
    return (
        names,
        np.array([number[text] for text in found.labels.texts], np.int64),
        np.array([number[text] for text in found.predicted.texts], np.int64),
    )


def _examples(found: Gathering, order: np.ndarray, labels: np.ndarray) -> pd.DataFrame:
    table: dict[str, Any] = {"example": np.arange(len(order)), "label": labels}
    ids = found.ids.texts
    named = [ids[number] for number in order]
    if named != [str(number) for number in range(len(order))]:
        table["example_id"] = pd.Series(named, dtype="str")
    for name, codes in found.groups.items():
        texts = np.array([*found.words[name].texts, None], dtype=object)
        values = texts[codes[order]]
        if (codes == -1).all():
            continue
        if all(text is not None and WHOLE.match(text) for text in texts[:-1]) and (codes >= 0).all():
            table[name] = np.array([int(value) for value in values], np.int64)
        else:
            table[name] = pd.Series(values, dtype="str")
    for name, numbers in found.attributes.items():
        if not np.isnan(numbers).all():
            table[name] = numbers[order]
    return pd.DataFrame(table)


def _class_facts(names: list[str], labels: np.ndarray, plan: ColumnMapping) -> pd.DataFrame:
    facts = plan.classes if plan.classes else tuple({"name": name} for name in names)
    try:
        return pd.DataFrame(
            {
                "class": np.arange(len(names)),
                "name": pd.Series(names, dtype="str"),
                "n_train": [int(fact.get("n_train") or 0) for fact in facts],
                "n_test": np.bincount(labels, minlength=len(names)),
                "entropy": [float(np.nan if fact.get("entropy") is None else fact["entropy"]) for fact in facts],
            }
        )
    except (TypeError, ValueError) as error:
        raise PruneScopeError(f"classes in the mapping should say name, n_train, entropy: {error}.") from error


# -- runs -------------------------------------------------------------------------------------------------------


def _specs(found: Gathering, models: pd.DataFrame, plan: ColumnMapping) -> dict[tuple[Any, ...], RunSpec]:
    """The settings of each run, by its identity; dense models serve the other runs of their network and seed."""
    runs = [tuple(values) for values in models[list(RUN)].drop_duplicates().itertuples(index=False)]
    place = {name: number for number, name in enumerate(RUN)}
    served = {
        (other[place["network"]], other[place["seed"]]) for other in runs if other[place["technique"]] not in DENSE
    }
    specs: dict[tuple[Any, ...], RunSpec] = {}
    for run in runs:
        facts = dict(zip(RUN, run, strict=True))
        if facts["technique"] in DENSE and (facts["network"], facts["seed"]) in served:
            continue
        specs[run] = _spec(found, facts, plan)
    keys = [spec.key for spec in specs.values()]
    if len(set(keys)) < len(keys):
        raise PruneScopeError("Two runs have the same settings; tell them apart by technique, network or seed.")
    return specs


def _spec(found: Gathering, facts: dict[str, Any], plan: ColumnMapping) -> RunSpec:
    own: dict[str, Any] = {"dataset": found.dataset, "split": found.split, "seed": int(facts["seed"])}
    own |= {name: str(facts[name]) for name in IDENTITY[2:]}
    if facts["run"] not in plan.runs:
        return RunSpec(**own, schedule="imported", epochs=0)
    spec = spec_from_settings(plan.runs[facts["run"]])
    for item in fields(RunSpec):
        kind = type(item.default) if item.name not in ("dataset", "network", "technique") else str
        value = getattr(spec, item.name)
        if not isinstance(value, (int, float) if kind is float else kind):
            raise PruneScopeError(f"The setting {item.name} of run {shown(facts['run'])} is {shown(value)}.")
    for name, value in own.items():
        if getattr(spec, name) != value:
            raise refused(
                name,
                None,
                f"the rows of run {shown(facts['run'])} say {shown(value)}, its settings {getattr(spec, name)!r}.",
            )
    return spec


def _levels(models: pd.DataFrame, run: tuple[Any, ...]) -> pd.DataFrame:
    """The models of a run by level, the dense one of another run first where it has none of its own."""
    facts = dict(zip(RUN, run, strict=True))
    same = np.ones(len(models), bool)
    for name, value in facts.items():
        same &= (models[name] == value).to_numpy()
    rows = models[same]
    if not (rows["sparsity"] == 0).any() and not (rows["level"] == 0).any():
        dense = models["technique"].isin(DENSE) & (models["network"] == facts["network"])
        dense &= (models["seed"] == facts["seed"]) & (models["sparsity"] == 0)
        rows = pd.concat([models[dense.to_numpy()].assign(level=0.0).head(1), rows])
    rows = rows.sort_values("sparsity", kind="stable")
    if rows["level"].isna().any():
        begin = 0 if (rows["sparsity"] == 0).any() else 1
        rows = rows.assign(level=np.arange(begin, begin + len(rows)))
    rows = rows.sort_values("level", kind="stable")
    words = f"technique {facts['technique']!r}, seed {facts['seed']:g}"
    for column in ("level", "sparsity"):
        twice = rows[column].duplicated()
        if twice.any() and column == "level":
            raise refused(column, None, f"{rows.loc[twice, column].iloc[0]:g} stands for two models of {words}.")
    return rows


def _write(study: Study, spec: RunSpec, tested: Tested, rows: pd.DataFrame, source: Mapping[str, Any]) -> None:
    labels = tested.examples["label"].to_numpy()
    keeps = {"probability", "margin"} <= set(tested.scores)
    unknown = np.full(len(labels), np.nan)
    results = []
    for model, row in zip(rows.index, rows.itertuples(), strict=True):
        counted = not np.isnan(_number(row.n_weights)) and not np.isnan(_number(row.n_kept)) and row.n_weights > 0
        loss = tested.scores["loss"][model] if "loss" in tested.scores else unknown
        if "loss" not in tested.scores and "probability" in tested.scores:
            with np.errstate(divide="ignore"):
                loss = -np.log(np.maximum(tested.scores["probability"][model].astype(float), 1e-7))
        results.append(
            LevelResult(
                level=int(row.level),
                sparsity_asked=float(row.sparsity if np.isnan(_number(row.sparsity_asked)) else row.sparsity_asked),
                n_weights=int(row.n_weights) if counted else 1,
                n_kept=int(row.n_kept) if counted else 1,
                validation_accuracy=_number(row.validation_accuracy),
                prediction=tested.prediction[model],
                probability=tested.scores["probability"][model] if keeps else unknown,
                margin=tested.scores["margin"][model] if keeps else unknown,
                loss=loss,
            )
        )
    tables = run_tables(results, labels, len(tested.classes), keeps)
    known = rows["n_weights"].notna().to_numpy() & rows["n_kept"].notna().to_numpy()
    levels = tables.levels.assign(sparsity=rows["sparsity"].to_numpy(float))
    for name in ("n_weights", "n_kept"):
        levels[name] = pd.array(np.where(known, levels[name], 0), dtype="Int64")
        levels.loc[~known, name] = pd.NA
    study.write_run(spec, replace(tables, levels=levels), source)


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)
