"""The experiment that a study opens with: by losses on validation alone, checked against the same by hand."""

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from engine.analysis.uncertainty.simultaneous import max_t_interval
from engine.api import opening as module
from engine.api.opening import opening_evidence, write_opening
from engine.commands import analyse_study, main
from engine.run_spec import RunSpec
from engine.specs.checks import validate_spec
from engine.specs.experiment_names import experiment_of, name_tables, names_in_study, opening_of_study
from engine.store.study import Study, examples_name
from pages.shared.cache import catalog
from pages.shared.cache.catalog import Source
from tests.engine.runs.test_run import TINY, run_in

FINE = validate_spec(replace(TINY, epochs=2, levels=2, treatment="finetune"))
ROUGH = validate_spec(replace(TINY, epochs=1, schedule="oneshot", levels=20, sparsities=(0.3,), treatment="finetune"))
FEW = validate_spec(replace(TINY, epochs=3, levels=1, treatment="finetune"))


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Three experiments: one with controls, one without, and one of too few seeds."""
    path = tmp_path_factory.mktemp("opening")
    for seed in range(3):
        for spec in (FINE, replace(FINE, technique="unpruned"), ROUGH):
            run_in(path, replace(spec, seed=seed))
    run_in(path, FEW)
    return Study(path)


@pytest.fixture(autouse=True)
def looser(monkeypatch: pytest.MonkeyPatch) -> None:
    """These networks train too shortly to keep their accuracy, and have few validation images."""
    monkeypatch.setattr(module, "WITHIN", 1.0)
    monkeypatch.setattr(module, "FEWEST", 5)


def by_hand(study: Study, spec: RunSpec, level: int, control: str) -> float:
    rows = []
    for seed in range(3):
        run = replace(spec, seed=seed)
        _, said, places = study.validation(run.key)
        labels = study.training_examples(examples_name(run))["label"].to_numpy()[places]
        before = study.validation(replace(run, technique=control).key)[1][level] if control else said[0]
        gone = (before == labels).astype(int) - (said[level] == labels)
        rows.append([gone[labels == digit].mean() for digit in range(10)])
    return float(np.max(max_t_interval(np.array(rows))[0]))


def test_evidence_is_the_largest_sure_loss_on_validation(study: Study) -> None:
    found = {one.experiment: one for one in opening_evidence(study)}
    assert set(found) == {experiment_of(FINE), experiment_of(ROUGH)}
    for spec, level, control in ((FINE, 2, "unpruned"), (ROUGH, 1, "")):
        one = found[experiment_of(spec)]
        assert (one.level, one.n_seeds, one.technique) == (level, 3, "global_unstructured")
        assert one.sure_loss == pytest.approx(by_hand(study, spec, level, control)) and one.who.startswith("class ")


def test_pages_open_with_the_clearest_and_the_choice_can_be_made_again(
    study: Study, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [replace(one, sure_loss=one.sure_loss + 1) for one in opening_evidence(study)]
    monkeypatch.setattr(analyse_study, "opening_evidence", lambda study: found)
    first, second = (one.experiment for one in found)
    (study.path / "study.toml").write_text('title = "Mine"\n' + name_tables([replace(first, name="Clearest")]))
    write_opening(study, second)
    assert main(["analyse", "--study", str(study.path), "--opening"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("Clearest: class ") and said[-1] == "The pages open with the first of these."
    info = Study(study.path).info
    place = tuple(asdict(first).values())[:-1]
    assert opening_of_study(info) == place and names_in_study(info) == {place: "Clearest"} and info["title"] == "Mine"
    experiments = catalog.experiments(Source(str(study.path), 1))
    assert experiments[0] == catalog.Experiment(*place) and len(experiments) == 3


def test_where_nobody_surely_loses_the_pages_open_as_they_did(
    study: Study, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [replace(one, sure_loss=-0.006) for one in opening_evidence(study)]
    monkeypatch.setattr(analyse_study, "opening_evidence", lambda study: found)
    before = (study.path / "study.toml").read_bytes()
    assert main(["analyse", "--study", str(study.path), "--opening"]) == 0
    assert "so none is chosen" in capsys.readouterr().out.splitlines()[-1]
    assert (study.path / "study.toml").read_bytes() == before


def test_a_study_of_few_seeds_has_no_clearest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_in(tmp_path, FEW)
    assert main(["analyse", "--study", str(tmp_path), "--opening"]) != 0
    assert "No experiment has 3 seeds" in capsys.readouterr().err
    assert opening_of_study({"opens": 3}) is None and opening_of_study({"opens": {"dataset": "a"}}) is None
