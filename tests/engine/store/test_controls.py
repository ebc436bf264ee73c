"""The control trains on as the others do and cuts nothing; tables of pruned networks leave it aside."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.errors import PruneScopeError
from engine.pruning.schedules import n_epochs_after, planned_levels
from engine.pruning.techniques import CONTROL
from engine.run_spec import RunSpec
from engine.runs.run import run_experiment
from engine.specs.checks import validate_spec
from engine.store import catalog
from engine.store.run_tables import run_tables
from engine.store.study import Study, examples_name
from engine.store.verification.verify import verify_study
from tests.support.studies import PROVENANCE, Plan, made_classes, made_examples, made_outcomes, make_study

ROOT = Path("unused")
TINY = RunSpec("digits", "lenet", CONTROL, "finetune", levels=3, epochs=2, learning_rate=0.1, batch_size=64)


@pytest.mark.parametrize(
    "settings",
    [
        {"share": 1e-9},
        {"schedule": "oneshot", "levels": 20, "sparsities": (1e-9, 2e-9), "epochs_after": 1},
        {
            "schedule": "gradual",
            "levels": 20,
            "sparsities": (1e-9,),
            "begin_step": 1,
            "end_step": 9,
            "every_steps": 2,
        },
    ],
    ids=lambda settings: settings.get("schedule", "iterative"),
)
def test_it_trains_as_a_network_of_which_too_little_is_cut_for_a_single_weight(
    tmp_path: Path, settings: dict[str, object]
) -> None:
    study, spec = Study(tmp_path), replace(TINY, **settings)  # type: ignore[arg-type]
    control = run_experiment(spec, study, ROOT, "cpu").key
    uncut = run_experiment(replace(spec, technique="global_unstructured"), study, ROOT, "cpu").key
    (levels, said), (_, expected) = study.prediction_matrix(control), study.prediction_matrix(uncut)
    assert len(levels) == 1 + len(planned_levels(validate_spec(spec))) and np.array_equal(said, expected)
    found = catalog.refresh(study)
    rows = found.control_levels
    assert rows["loss"].tolist() == found.levels["loss"].tolist() and rows["loss"].is_unique, "it trains"
    assert set(rows["run"]) == {control} and (rows["sparsity"] == 0).all() and (rows["sparsity_asked"] == 0).all()
    assert verify_study(study) == []


def test_it_goes_on_from_the_trained_weights_only() -> None:
    with pytest.raises(PruneScopeError, match="say 'finetune'"):
        validate_spec(replace(TINY, treatment="rewind"))
    assert n_epochs_after(validate_spec(replace(TINY, mitigation="after"))) == 2


def test_tables_of_pruned_networks_leave_it_aside(tmp_path: Path) -> None:
    few = {"seeds": 2, "levels": 2, "treatments": ("finetune",), "examples": 60}
    study = make_study(tmp_path, **few, techniques=("global_unstructured", CONTROL, "l1_structured"))
    alone = make_study(tmp_path.with_name("alone"), **few, techniques=("global_unstructured", CONTROL))
    found, all_runs = catalog.refresh(study), set(study.runs())
    for pruned, controls in ((found.levels, found.control_levels), (found.classes, found.control_classes)):
        assert list(pruned["technique"].cat.categories) == ["global_unstructured", "l1_structured"]
        assert set(controls["technique"]) == {CONTROL} and list(controls["seed"].unique()) in ([0, 1], [1, 0])
        assert set(pruned["run"]) | set(controls["run"]) == all_runs
        assert not set(pruned["run"].cat.categories) & set(controls["run"].cat.categories)
    assert set(found.runs["run"]) == all_runs
    same = catalog.refresh(alone)
    one = found.levels[found.levels["technique"] == "global_unstructured"].reset_index(drop=True)
    assert one.astype(same.levels.dtypes).equals(same.levels)


def test_a_technique_of_that_name_from_elsewhere_is_no_control(tmp_path: Path) -> None:
    study, plan = Study(tmp_path), Plan(levels=1, examples=60)
    spec = RunSpec("own", "net", CONTROL, "finetune", schedule="imported", epochs=0)
    examples = made_examples(plan)
    study.write_examples(examples_name(spec), examples, made_classes(plan, examples))
    tables = run_tables(made_outcomes(plan, examples, 1.0, 0), examples["label"].to_numpy(), 10, keep_scores=False)
    study.write_run(spec, tables, PROVENANCE)
    assert len(study.levels()) == 2 and catalog.refresh(study).control_levels.empty
