"""The rules of mitigation: the step that validation chooses, and the one comparison on test that was named before."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pandas as pd

from docs.made.study import LATER, Demo, markdown
from engine.analysis.causes.mitigation_steps import (
    PRIMARY_ARM,
    PrimaryComparison,
    StepChoice,
    chosen_step,
    group_counts,
    primary_comparison,
    primary_level,
)
from engine.datasets.groups import CLASS
from engine.run_spec import DEFAULTS, RunSpec, names_in
from engine.specs.mitigation import RULES
from engine.store.study import Study, examples_name
from pages.shared import formats

Runs = dict[RunSpec, str]
"""Keys of runs by their settings."""


def rules_table(demo: Demo) -> str:
    """One row per data set, groups and rule: the step chosen, and the primary comparison; `LATER` without such runs."""
    rows = [
        _row(spec, choice, judged(demo.study, spec, choice, runs))
        for spec, runs in mitigated(demo.study)
        for choice in [choice_of(demo.study, spec, runs)]
    ]
    heads = [
        "experiment",
        "rule",
        "groups",
        "step",
        "gap without",
        "change of gap",
        "share",
        "change of accuracy",
        "seeds",
    ]
    return markdown(pd.DataFrame(rows, columns=heads)) if rows else f"Runs of the rules are {LATER}."


def mitigated(study: Study) -> list[tuple[RunSpec, Runs]]:
    """What runs of the primary arm share, all settings but seed and step, each with all runs of the study beside it."""
    every = {record.spec: key for key in study.runs() for record in [study.run_record(key)]}
    found: dict[RunSpec, None] = {}
    for spec in every:
        if spec.mitigation == PRIMARY_ARM and "eta" in RULES[spec.mitigation_rule].settings:
            found[replace(spec, seed=0, eta=DEFAULTS["eta"])] = None
    return [(spec, every) for spec in found]


def choice_of(study: Study, spec: RunSpec, runs: Runs) -> StepChoice:
    """The step of one rule, by what its runs and those without mitigation say of their validation splits."""
    runs = {run: key for run, key in runs.items() if study.has_validation(key)}
    level = _level(study, spec, runs)
    if level is None:
        return chosen_step(pd.DataFrame(columns=["eta", "seed"]), pd.DataFrame(columns=["seed"]), spec.mitigation_rule)
    runs = _reaching(study, runs, level)
    steps = [
        _validation(study, key, level, spec).assign(eta=run.eta, seed=run.seed) for run, key in _of_rule(spec, runs)
    ]
    none = [_validation(study, key, level, spec).assign(seed=run.seed) for run, key in _plain(spec, runs)]
    empty = pd.DataFrame(columns=["eta", "seed", "group", "n", "correct"])
    return chosen_step(_stacked(steps, empty), _stacked(none, empty), spec.mitigation_rule)


def judged(study: Study, spec: RunSpec, choice: StepChoice, runs: Runs) -> PrimaryComparison | None:
    """The primary comparison of the chosen step, on test; None where none was chosen."""
    level = _level(study, spec, runs)
    if level is None or choice.eta != choice.eta:
        return None
    runs = _reaching(study, runs, level)
    arm = [_tested(study, key, level, spec, run.seed) for run, key in _of_rule(spec, runs) if run.eta == choice.eta]
    none = [_tested(study, key, level, spec, run.seed) for run, key in _plain(spec, runs)]
    return primary_comparison(pd.DataFrame(arm), pd.DataFrame(none))


def _reaching(study: Study, runs: Runs, level: int) -> Runs:
    """The runs that have the level; one that would have emptied a layer has not."""
    return {run: key for run, key in runs.items() if level in set(study.run_table(key, "levels")["level"])}


def _of_rule(spec: RunSpec, runs: Runs) -> list[tuple[RunSpec, str]]:
    return [(run, key) for run, key in runs.items() if replace(run, seed=0, eta=DEFAULTS["eta"]) == spec]


def _plain(spec: RunSpec, runs: Runs) -> list[tuple[RunSpec, str]]:
    """The runs that differ in mitigation only, by having none; what they record may differ too."""
    other = {name: DEFAULTS[name] for name in names_in("mitigation", "record")}
    wanted = replace(spec, **other)
    return [
        (run, key) for run, key in runs.items() if run.mitigation == "none" and replace(run, seed=0, **other) == wanted
    ]


def _level(study: Study, spec: RunSpec, runs: Runs) -> int | None:
    sparsities: dict[int, list[float]] = defaultdict(list)
    for _, key in _of_rule(spec, runs):
        for row in study.run_table(key, "levels").itertuples():
            sparsities[int(row.level)].append(float(row.sparsity))
    return primary_level(pd.Series({level: np.mean(values) for level, values in sparsities.items() if level}))


def _validation(study: Study, key: str, level: int, spec: RunSpec) -> pd.DataFrame:
    levels, predictions, rows = study.validation(key)
    examples = study.training_examples(examples_name(spec)).iloc[rows]
    return group_counts(predictions[list(levels).index(level)], *_labels(examples, spec))


def _tested(study: Study, key: str, level: int, spec: RunSpec, seed: int) -> dict[str, float]:
    levels, predictions = study.prediction_matrix(key)
    counts = group_counts(predictions[list(levels).index(level)], *_labels(study.examples(examples_name(spec)), spec))
    rates = counts["correct"] / counts["n"]
    accuracy = counts["correct"].sum() / counts["n"].sum()
    return {"seed": seed, "accuracy": float(accuracy), "gap": float(rates.max() - rates.min())}


def _labels(examples: pd.DataFrame, spec: RunSpec) -> tuple[np.ndarray, np.ndarray]:
    labels = examples["label"].to_numpy()
    return labels, labels if spec.mitigated_group == CLASS else examples[spec.mitigated_group].to_numpy()


def _stacked(parts: Iterable[pd.DataFrame], empty: pd.DataFrame) -> pd.DataFrame:
    found = list(parts)
    return pd.concat(found, ignore_index=True) if found else empty


def _row(spec: RunSpec, choice: StepChoice, result: PrimaryComparison | None) -> tuple[str, ...]:
    name = ", ".join(part for part in (f"{spec.network} on {spec.dataset}", spec.target, spec.technique) if part)
    first = (name, RULES[choice.rule].label.lower(), spec.mitigated_group)
    if result is None:
        return (*first, f"none: {choice.reason}", *[formats.MISSING] * 5)
    return (
        *first,
        f"{choice.eta:g}",
        formats.points(result.gap_none, sign=False),
        _with_ends(result.gap),
        formats.percent(-result.narrowing, 0),
        _with_ends(result.accuracy),
        str(result.n_seeds),
    )


def _with_ends(change: tuple[float, float, float]) -> str:
    mean, low, high = change
    return formats.points(mean) + (f" ({100 * low:+.1f} to {100 * high:+.1f})" if low == low else "")
