"""A candidate against a policy: from a run of a study, or from files of predictions that any toolkit wrote."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from engine.analysis.columns import CLASS
from engine.analysis.gate.judge import Candidate, judge, overall
from engine.analysis.gate.rules import PASS, Finding, Policy
from engine.errors import PruneScopeError, unknown_name
from engine.exchange.sandbox import Source, import_file
from engine.shipping.baseline_run import baseline_of
from engine.shipping.gate_report import as_markdown
from engine.shipping.policy import read_policy
from engine.shipping.predictions import PREDICTIONS
from engine.shipping.shipped_record import RECORD, read_shipped
from engine.store.parquet import from_parquet
from engine.store.study import Study, examples_name

MEASURED = ("latency_ms", "bytes", "macs", "weights")


@dataclass(frozen=True, eq=False)
class Model:
    """One network's answers: the examples, seeds by examples, and how it is called."""

    name: str
    examples: pd.DataFrame
    class_names: list[str]
    answers: np.ndarray

    @property
    def ids(self) -> pd.Index:
        """What tells its examples from each other."""
        column = "example_id" if "example_id" in self.examples else "example"
        return pd.Index(self.examples[column].astype(str))


@dataclass(frozen=True)
class Gated:
    """What a gate found of a candidate."""

    title: str
    findings: tuple[Finding, ...]

    @property
    def outcome(self) -> str:
        """pass, fail, or cannot be told."""
        return overall(self.findings)


def gate(
    policy: Policy | str | Path,
    candidate: str | Path,
    baseline: str | Path | None = None,
    *,
    study: str | Path | None = None,
    level: int | None = None,
    measures: dict[str, float] | None = None,
) -> Gated:
    """Judge a candidate: a run of `study` at a level (the last without one), a file of predictions, a shipped folder.

    A run is compared with the same training unpruned, where that is recorded, else with its own dense level; a file
    with the dense rows in it. `baseline` names another run or file.
    """
    rules = policy if isinstance(policy, Policy) else read_policy(policy)
    here, before = _models(candidate, baseline, study, level)
    for rule in rules.rules:
        for column in rule.between if rule.row.needs_groups else ():
            if column != CLASS and column not in here.examples:
                raise unknown_name(column, [CLASS, *_group_columns(here.examples)], "column of groups")
    answers = None if before is None else _aligned(before, here)
    known = shipped_measures(Path(candidate)) if is_shipped(candidate) else {}
    subject = Candidate(here.examples, here.answers, answers, {**known, **(measures or {})}, here.class_names)
    title = here.name if before is None else f"{here.name}, against {before.name}"
    return Gated(title, tuple(judge(rules, subject)))


def assert_gate(
    policy: Policy | str | Path,
    candidate: str | Path,
    baseline: str | Path | None = None,
    *,
    study: str | Path | None = None,
    level: int | None = None,
) -> None:
    """For a test: nothing where the candidate passes, an AssertionError with the summary where it does not."""
    gated = gate(policy, candidate, baseline, study=study, level=level)
    if gated.outcome != PASS:
        raise AssertionError(as_markdown(gated.findings, gated.title))


def _models(
    candidate: str | Path, baseline: str | Path | None, study: str | Path | None, level: int | None
) -> tuple[Model, Model | None]:
    if is_shipped(candidate):
        here, dense = _from_folder(Path(candidate))
    elif _is_file(candidate):
        here, dense = _from_file(Path(candidate))
    elif study is None:
        raise PruneScopeError(f"There is no file {candidate}; a run needs --study, the folder where it lies.")
    else:
        here, dense = _from_run(_opened(study), str(candidate), level)
    if baseline is None:
        return here, dense
    if _is_file(baseline):
        other, start = _from_file(Path(baseline))
        return here, other if other.answers.size else start
    if study is None:
        raise PruneScopeError(f"There is no file {baseline}; a run needs --study, the folder where it lies.")
    return here, _from_run(_opened(study), str(baseline), level)[0]


def _is_file(name: str | Path) -> bool:
    return Path(name).is_file()


def _opened(folder: str | Path) -> Study:
    study = Study(folder)
    if not (study.path / "runs").is_dir():
        raise PruneScopeError(f"There is no study in {study.path}.")
    return study


def _from_run(study: Study, key: str, level: int | None) -> tuple[Model, Model | None]:
    """A run at a level, and its baseline: the same training unpruned, else its own dense level."""
    if not study.has_run(key):
        raise unknown_name(key, study.runs()[:20], f"run in {study.path.name}")
    spec = study.run_record(key).spec
    levels, matrix = study.prediction_matrix(key)
    at = int(levels.max()) if level is None else level
    if at not in levels:
        raise PruneScopeError(f"Run {key} has no level {at}; it has {int(levels.min())} to {int(levels.max())}.")
    name = examples_name(spec)
    examples, names = study.examples(name), study.class_facts(name)["name"].tolist()

    def model(run: str, where: int) -> Model:
        stages, answers = study.prediction_matrix(run)
        return Model(f"run {run} level {where}", examples, names, answers[stages == where])

    here = Model(f"run {key} level {at}", examples, names, matrix[levels == at])
    if at == 0:
        return here, None
    run, where = baseline_of(study, key, at)
    stages, answers = study.prediction_matrix(run)
    if where not in stages:
        return here, None
    return here, Model(f"run {run} level {where}", examples, names, answers[stages == where])


def is_shipped(name: str | Path) -> bool:
    """Whether this is a folder that `ship` wrote."""
    return (Path(name) / RECORD).is_file()


def _from_folder(folder: Path) -> tuple[Model, Model | None]:
    """The model of a shipped folder, as it was recorded, and its baseline."""
    shipped = read_shipped(folder)
    rows = from_parquet((folder / PREDICTIONS).read_bytes(), PREDICTIONS).to_pandas()
    number = {name: code for code, name in enumerate(shipped.classes)}
    models: dict[str, Model] = {}
    for role, table in rows.groupby("model", sort=False):
        own = [name for name in table if name not in ("model", "technique", "sparsity", "seed", "prediction")]
        examples = table[own].reset_index(drop=True).assign(label=table["label"].map(number).to_numpy())
        name = folder.name if role == "model" else f"baseline of {folder.name}"
        models[str(role)] = Model(name, examples, shipped.classes, table["prediction"].map(number).to_numpy()[None])
    return models["model"], models.get("baseline")


def shipped_measures(folder: Path) -> dict[str, float]:
    """What was measured of a shipped model, by the names of a policy."""
    shipped = read_shipped(folder)
    costs, timed = shipped.costs, shipped.costs["milliseconds"]
    latency = {"latency_ms": timed["batch_1"]["median"]} if "batch_1" in timed else {}
    equal = {"answers_equal": shipped.n_equal / shipped.n_answers}
    return {**{name: float(costs[name]) for name in ("bytes", "macs", "weights")}, **latency, **equal}


def _from_file(path: Path) -> tuple[Model, Model | None]:
    """The one pruned model of a file (all its seeds), and the dense one that stands in it, if any.

    A file of one unpruned model gives that.
    """
    with tempfile.TemporaryDirectory() as folder:
        study = Study(Path(folder) / "gate")
        import_file(Source(path, path.name, _sidecar(path)), study)
        records = {key: study.run_record(key).spec for key in study.runs()}
        names = {examples_name(spec) for spec in records.values()}
        if len(names) != 1:
            raise PruneScopeError(f"{path.name} has {len(names)} data sets ({', '.join(sorted(names))}); give it one.")
        name = names.pop()
        examples, classes = study.examples(name), study.class_facts(name)["name"].tolist()
        stages: dict[bool, list[np.ndarray]] = {True: [], False: []}
        identities = set()
        for key, spec in records.items():
            sparsity = study.run_table(key, "levels").set_index("level")["sparsity"]
            for stage, row in zip(*study.prediction_matrix(key), strict=True):
                pruned = bool(sparsity[stage] > 0)
                stages[pruned].append(row)
                if pruned:
                    identities.add((spec.network, spec.technique, spec.treatment, spec.mitigation, sparsity[stage]))
        if len(identities) > 1:
            raise PruneScopeError(
                f"{path.name} has {len(identities)} pruned models; a gate judges one (its seeds may be several)."
            )
        models = {
            pruned: Model(path.name if pruned else f"dense of {path.name}", examples, classes, np.array(rows))
            for pruned, rows in stages.items()
            if rows
        }
    return (models[True], models.get(False)) if True in models else (models[False], None)


def _sidecar(path: Path) -> Path | None:
    beside = path.with_name(f"{path.name}.json")
    return beside if beside.is_file() else None


def _aligned(before: Model, here: Model) -> np.ndarray:
    """The baseline's answers in the order and the numbers of the candidate's examples and classes."""
    place = before.ids.get_indexer(here.ids)
    if (place < 0).any():
        missing = here.ids[int(np.argmax(place < 0))]
        raise PruneScopeError(f"{before.name} has no answer for example {missing!r} of {here.name}.")
    number = {name: code for code, name in enumerate(here.class_names)}
    extra = [name for name in before.class_names if name not in number]
    codes = np.array([number.get(name, len(number) + k) for k, name in enumerate(before.class_names)])
    labels = codes[before.examples["label"].to_numpy()[place]]
    if not np.array_equal(labels, here.examples["label"].to_numpy()):
        first = here.ids[int(np.argmax(labels != here.examples["label"].to_numpy()))]
        note = f"; it also knows the classes {', '.join(extra)}" if extra else ""
        raise PruneScopeError(f"Example {first!r} has another label in {before.name} than in {here.name}{note}.")
    return np.asarray(codes[before.answers[:, place]])


def _group_columns(examples: pd.DataFrame) -> Sequence[str]:
    return [str(name) for name in examples if name not in ("example", "example_id", "label")]
