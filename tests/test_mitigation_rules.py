"""The table of rules in the docs: its step is chosen on validation, its comparison is what the runs predict."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engine.run_spec import RunSpec
from engine.runs.run import run_experiment
from engine.store.study import Study

TOP = Path(__file__).resolve().parents[1]
SPEC = RunSpec(
    "digits",
    "lenet",
    "l1_unstructured",
    "finetune",
    schedule="oneshot",
    sparsities=(0.9, 0.98),
    epochs=2,
    epochs_after=2,
    batch_size=64,
    learning_rate=0.1,
)
ETAS = (0.05, 0.4)
FAIR = replace(SPEC, mitigation="both", mitigation_rule="reweight")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    study = Study(tmp_path_factory.mktemp("rules"))
    for seed in (0, 1):
        for spec in (replace(SPEC, diagnose=("class",)), *(replace(FAIR, eta=eta) for eta in ETAS)):
            run_experiment(replace(spec, seed=seed), study, TOP, "cpu")
    return study


@pytest.fixture(scope="module")
def rules():
    sys.path.insert(0, str(TOP))
    from docs.made import mitigation_rules

    yield mitigation_rules
    sys.path.remove(str(TOP))


def rates(predictions: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return np.array([(predictions[labels == label] == label).mean() for label in range(10)])


def test_the_step_is_chosen_on_validation_and_judged_once_on_test(study: Study, rules) -> None:
    ((spec, runs),) = rules.mitigated(study)
    assert (spec.mitigation_rule, spec.mitigation, spec.eta, spec.seed) == ("reweight", "both", 0.1, 0)
    choice = rules.choice_of(study, spec, runs)
    keys = {(run.mitigation, run.eta, run.seed): key for run, key in runs.items()}
    labels = study.training_examples("digits-official")["label"].to_numpy()
    for eta in ETAS:
        right, total = np.zeros(10), np.zeros(10)
        for seed in (0, 1):
            levels, said, rows = study.validation(keys["both", eta, seed])
            at = said[list(levels).index(2)]
            right += np.bincount(labels[rows][at == labels[rows]], minlength=10)
            total += np.bincount(labels[rows], minlength=10)
        shown = choice.steps.set_index("eta").loc[eta]
        assert shown["gap"] == pytest.approx((right / total).max() - (right / total).min())
        assert shown["accuracy"] == pytest.approx(right.sum() / total.sum()) and shown["n_seeds"] == 2
    choice = replace(choice, eta=0.4, reason="")
    result = rules.judged(study, spec, choice, runs)
    tested = study.examples("digits-official")["label"].to_numpy()
    changes = []
    for seed in (0, 1):
        gaps = [
            np.ptp(rates(study.prediction_matrix(keys[arm, eta, seed])[1][2], tested))
            for arm, eta in (("none", 0.1), ("both", 0.4))
        ]
        changes.append(gaps[1] - gaps[0])
    assert result.gap[0] == pytest.approx(np.mean(changes)) and result.n_seeds == 2


def test_without_a_level_at_98_percent_no_step_is_chosen(tmp_path: Path, rules) -> None:
    study = Study(tmp_path)
    run_experiment(replace(FAIR, sparsities=(0.5,)), study, TOP, "cpu")
    ((spec, runs),) = rules.mitigated(study)
    choice = rules.choice_of(study, spec, runs)
    assert np.isnan(choice.eta) and rules.judged(study, spec, choice, runs) is None
    assert rules._row(spec, choice, None)[3].startswith("none: no seed")


def test_the_table_of_a_study_without_rules_says_so(tmp_path: Path, rules) -> None:
    from docs.made.study import Demo

    empty = pd.DataFrame()
    assert rules.rules_table(Demo(Study(tmp_path), empty, empty, empty, empty)) == (
        "Runs of the rules are not in the study yet."
    )
