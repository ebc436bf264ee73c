"""A run that is computed again from its spec is held against what was kept, prediction by prediction."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.commands import main
from engine.errors import PruneScopeError
from engine.pruning.schedules import planned_levels
from engine.run_spec import RunSpec
from engine.runs.reproduce import compare_runs, reproduction_spec
from engine.runs.run import run_experiment
from engine.specs.checks import validate_spec
from engine.store.run_tables import RunTables
from engine.store.study import Study
from tests.support.run_folders import made_study
from tests.support.uploads import bring, long_table

TOP = Path(__file__).resolve().parents[3]
ROOT = Path("unused")
TINY = validate_spec(
    RunSpec("digits", "lenet", "random_unstructured", levels=3, epochs=5, learning_rate=0.1, batch_size=64)
)
AT_ONCE = replace(TINY, treatment="finetune", schedule="oneshot", levels=20, sparsities=(0.5, 0.9))


@pytest.mark.parametrize(("spec", "n_levels"), [(TINY, 1), (AT_ONCE, None), (AT_ONCE, 1)])
def test_a_run_or_its_first_levels_come_out_as_kept(
    tmp_path: Path, spec: RunSpec, n_levels: int | None, capsys: pytest.CaptureFixture[str]
) -> None:
    run_experiment(spec, Study(tmp_path), ROOT, "cpu")
    words = ["rebuild", spec.key, "--study", str(tmp_path), "--device", "cpu"]
    assert main([*words, *(["--levels", str(n_levels)] if n_levels else [])]) == 0
    last = n_levels or len(planned_levels(spec))
    assert f"levels 0 to {last}, 896 predictions each, all equal" in " ".join(capsys.readouterr().out.split())


def test_what_differs_is_counted_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The run is kept with predictions, versions and a level that computing it again does not give."""
    honest, kept = Study(tmp_path / "honest"), Study(tmp_path / "kept")
    run_experiment(TINY, honest, ROOT, "cpu")
    run_experiment(replace(TINY, seed=1), honest, ROOT, "cpu")
    (tmp_path / "kept").mkdir()
    (honest.path / "examples").rename(kept.path / "examples")
    other = honest.run_record(replace(TINY, seed=1).key)
    tables = _tables(honest, other.spec.key)
    kept.write_run(TINY, tables, other.provenance | {"torch": "1.0", "processor": ""})

    to = ["--to", str(tmp_path / "again")]
    assert main(["rebuild", TINY.key, "--study", str(kept.path), "--device", "cpu", *to]) == 1
    printed = " ".join(capsys.readouterr().out.split())
    again = Study(tmp_path / "again")
    comparison = compare_runs(kept, TINY.key, again, TINY)
    (_, then), (_, now) = kept.prediction_matrix(TINY.key), again.prediction_matrix(TINY.key)
    assert [level.n_equal for level in comparison.levels] == (then == now).sum(1).tolist()
    labels = kept.examples("digits-official")["label"].to_numpy()
    assert [level.accuracy_again for level in comparison.levels] == pytest.approx((now == labels).mean(1))
    assert f"{(then == now).mean():.2%} of them equal" in printed
    assert "Kept with torch 1.0, here" in printed and "processor not recorded, here" in printed


def test_a_level_that_only_one_has_is_not_equal(tmp_path: Path) -> None:
    study, aside = Study(tmp_path / "study"), Study(tmp_path / "aside")
    run_experiment(TINY, study, ROOT, "cpu")
    run_experiment(TINY, aside, ROOT, "cpu")
    short = _tables(aside, TINY.key, n_levels=2)
    (aside.path / "runs" / TINY.key).rename(aside.path / "gone")
    aside.write_run(TINY, short, study.run_record(TINY.key).provenance)
    comparison = compare_runs(study, TINY.key, aside, TINY)
    assert comparison.n_missing == 2 and len(comparison.levels) == 2 and not comparison.is_equal
    assert all(level.n_equal == level.n_examples for level in comparison.levels)


def test_what_cannot_be_rebuilt_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PruneScopeError, match="no run 'abc' among the 2"):
        reproduction_spec(made_study(tmp_path / "made", 2), "abc")
    run = Study(tmp_path / "made").runs()[0]
    with pytest.raises(PruneScopeError, match="levels is 0; allowed is 1 to 2"):
        reproduction_spec(Study(tmp_path / "made"), run, 0)
    long_table().to_csv(tmp_path / "file.csv", index=False)
    brought = Study(tmp_path / "brought")
    bring(tmp_path / "file.csv", brought)
    with pytest.raises(PruneScopeError, match="was imported"):
        reproduction_spec(brought, brought.runs()[0])


def test_other_examples_are_refused(tmp_path: Path) -> None:
    made = made_study(tmp_path / "made", 1)
    spec = reproduction_spec(made, made.runs()[0])
    run_experiment(replace(TINY, levels=spec.levels), aside := Study(tmp_path / "aside"), ROOT, "cpu")
    with pytest.raises(PruneScopeError, match="896 test examples, and their labels are not those of the 60"):
        compare_runs(made, made.runs()[0], aside, spec)


def test_the_study_itself_is_no_place_to_compute_in(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = made_study(tmp_path, 1)
    assert main(["rebuild", study.runs()[0], "--study", str(tmp_path), "--to", str(tmp_path / ".")]) == 1
    assert "is the study itself" in capsys.readouterr().err


def test_a_shipped_run_comes_out_again(real_root: Path, tmp_path: Path) -> None:
    """Its first level: all equal where the means are, as on all x86-64 processors; else nearer than another seed."""
    demo, run = Study(TOP / "data" / "demo"), "9d6b25d94ba8"
    spec = reproduction_spec(demo, run, 1)
    run_experiment(spec, aside := Study(tmp_path), real_root, "cpu")
    comparison = compare_runs(demo, run, aside, spec)
    same = np.array([level.n_equal / level.n_examples for level in comparison.levels])
    assert len(same) == 2 and not comparison.n_missing
    assert comparison.is_equal or comparison.environment_differences
    now = aside.prediction_matrix(spec.key)[1]
    for seed in (1, 2, 3, 4, 5):
        other = demo.prediction_matrix(replace(demo.run_record(run).spec, seed=seed).key)[1][:2]
        assert (same > (now == other).mean(1) + 0.01).all()
    assert (same > 0.99).all() and all(level.accuracy_again > 0.9 for level in comparison.levels)


def _tables(study: Study, run: str, n_levels: int | None = None) -> RunTables:
    """The tables of a run, or of its first levels."""
    levels, classes = (study.run_table(run, name) for name in ("levels", "classes"))
    numbers = levels["level"].tolist()[:n_levels]
    rows = study.run_rows(run, "predictions")
    return RunTables(
        levels[levels["level"].isin(numbers)], classes[classes["level"].isin(numbers)], rows.slice(0, len(numbers))
    )
