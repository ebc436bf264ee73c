"""Answers of any toolkit become levels of ordinary runs, in any order, or are refused with nothing written."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.api.public_study import Study
from engine.errors import PruneScopeError
from engine.store.verification.verify import verify_study

N = 60
LABELS = np.tile(["cat", "dog", "owl"], N // 3)
REGION = np.where(np.arange(N) < N // 2, "rural", "urban")


def answers(n_wrong: int) -> np.ndarray:
    """Answers of which the first are wrong."""
    said = LABELS.copy()
    said[:n_wrong] = np.roll(LABELS, 1)[:n_wrong]
    return said


MODELS: list[dict[str, Any]] = [
    {"technique": technique, "sparsity": sparsity, "seed": seed, "predictions": answers(n_wrong)}
    for seed in (0, 1)
    for technique, sparsity, n_wrong in (("dense", 0.0, 3), ("lasso", 0.5, 6), ("lasso", 0.9, 20), ("mine", 0.5, 9))
]


def record(study: Study, model: dict[str, Any], **more: Any) -> str:
    return study.record(labels=LABELS, groups={"region": REGION}, **(model | more))


def content(study: Study) -> pd.DataFrame:
    """All levels with their answers, in the order of runs."""
    levels = study.levels().astype({"run": str}).sort_values(["run", "level"], ignore_index=True)
    parts = [study.predictions(run).groupby("level")["prediction"].apply(list) for run in study.runs()]
    return levels.assign(prediction=[answer for part in parts for answer in part]).drop(
        columns="engine", errors="ignore"
    )


def test_models_recorded_in_any_order_give_one_study(tmp_path_factory: pytest.TempPathFactory) -> None:
    expected: list[pd.DataFrame] = []

    @settings(max_examples=12, deadline=None)
    @given(st.permutations(MODELS))
    def check(models: list[dict[str, Any]]) -> None:
        study = Study(tmp_path_factory.mktemp("study"))
        for model in models:
            record(study, model)
        assert verify_study(study) == []
        expected.append(content(study))
        pd.testing.assert_frame_equal(expected[0], expected[-1])

    check()
    rows = expected[0]
    assert len(rows) == 2 * (3 + 2), "each technique has the dense network of its seed"
    lasso = rows[(rows["technique"] == "lasso") & (rows["seed"] == 0)]
    assert lasso["level"].tolist() == [0, 1, 2] and lasso["sparsity"].tolist() == [0, 0.5, 0.9]
    assert lasso["accuracy"].tolist() == pytest.approx([1 - 3 / N, 1 - 6 / N, 1 - 20 / N])


def test_points_between_groups_say_who_pays(tmp_path: Path) -> None:
    study = Study(tmp_path / "study")
    for model in MODELS:
        record(study, model)
    points = study.points(fair_between="region").set_index(["technique", "sparsity"])
    rural, urban = 1 - 20 / (N // 2), 1.0
    assert points.loc[("lasso", 0.9), "max_min"] == pytest.approx(urban - rural)
    assert points.loc[("lasso", 0.9), "n_seeds"] == 2
    crossed = study.points(fair_between=("region", "class"), least=10).set_index(["technique", "sparsity"])
    assert crossed.loc[("lasso", 0.9), "worst_class"] == pytest.approx(7 / 10)
    with pytest.raises(PruneScopeError, match="did you mean 'region'"):
        study.points(fair_between="regoin")


def test_probabilities_are_kept_where_all_models_have_them(tmp_path: Path) -> None:
    study = Study(tmp_path / "study")
    chance = np.linspace(0.1, 1, N)
    record(study, MODELS[0], probability=chance)
    run = record(study, MODELS[1], probability=chance)
    kept = study.predictions(run)
    np.testing.assert_allclose(kept.loc[kept["level"] == 1, "probability"], chance, atol=1e-3)
    assert study.levels()["loss"].notna().all()
    run = record(study, MODELS[2])
    assert "probability" not in study.predictions(run) and verify_study(study) == []


def test_groups_may_be_a_table_and_have_names_of_any_language(tmp_path: Path) -> None:
    size = np.where(np.arange(N) % 2, "groß", "klein")
    groups = pd.DataFrame({"Größe": size, "home town": REGION}, index=range(5, N + 5))
    study = Study(tmp_path / "s")
    study.record(labels=LABELS, groups=groups, **MODELS[0])
    examples = study.examples("own")
    assert examples["Größe"].tolist() == size.tolist() and examples["home town"].tolist() == list(REGION)
    assert len(study.points("home town")) == 1


BAD: list[tuple[dict[str, Any], str]] = [
    ({"predictions": LABELS[:-1]}, "59 predictions beside 60 labels"),
    ({"groups": {"region": REGION[:-1]}}, r"groups\['region'\] has 59 values beside 60 labels"),
    ({"groups": {"../up": REGION}}, "group name '../up' is not allowed"),
    ({"groups": {"<b>": REGION}}, "group name '<b>' is not allowed: it looks like HTML"),
    ({"groups": {7: REGION}}, "group name 7 is not allowed: it should be text"),
    ({"groups": list(REGION)}, "groups is a list; it should say of each column what it is called"),
    ({"groups": {"label": REGION}}, "may not be called 'label'"),
    ({"predictions": np.where(np.arange(N) == 7, "fox", LABELS)}, "predictions of example 7 is 'fox'"),
    ({"labels": np.where(np.arange(N) == 7, np.nan, 1.0)}, "labels of example 7 is missing"),
    ({"predictions": [None, *LABELS[1:]]}, "predictions of example 0 is missing"),
    ({"sparsity": 1.01}, "sparsity is 1.01; it is the share"),
    ({"sparsity": float("nan")}, "sparsity is nan"),
    ({"sparsity": "0.5"}, "sparsity is '0.5'"),
    ({"seed": -1}, "seed is -1"),
    ({"technique": "a/b"}, "technique name 'a/b' is not allowed"),
    ({"probability": np.full(N, 1.5)}, "probability of example 0 is 1.5"),
    ({"probability": np.full(N - 1, 0.5)}, "probability has the shape"),
    ({"predictions": np.zeros((2, N))}, "predictions has the shape"),
    ({"classes": ["cat", "cat", "owl"]}, "A class stands twice"),
    ({"dataset": "a:b"}, "dataset name 'a:b' is not allowed"),
    ({"labels": np.roll(LABELS, 1)}, "Example 0 has the label 'owl'; in the study it is 'cat'"),
    ({"groups": {"region": np.roll(REGION, 1)}}, "'region' has other values"),
    ({"groups": {"town": REGION}}, "'town' is new"),
    ({"sparsity": 0.9, "technique": "lasso"}, "at sparsity 0.9 is recorded already"),
    ({"sparsity": 0.0, "technique": "dense"}, "at sparsity 0 is recorded already"),
]


@pytest.mark.parametrize(("change", "sentence"), BAD, ids=[sentence[:30] for _, sentence in BAD])
def test_a_bad_model_is_refused_and_nothing_written(tmp_path: Path, change: dict[str, Any], sentence: str) -> None:
    study = Study(tmp_path / "study")
    for model in MODELS[:3]:
        record(study, model)
    before = {path: path.read_bytes() for path in study.path.rglob("*") if path.is_file()}
    good = {"labels": LABELS, "groups": {"region": REGION}, "predictions": LABELS, "sparsity": 0.7, "technique": "mine"}
    with pytest.raises(PruneScopeError, match=sentence) as refusal:
        study.record(**(good | change))
    assert str(refusal.value).count("\n") == 0
    assert {path: path.read_bytes() for path in study.path.rglob("*") if path.is_file()} == before


def test_a_kill_between_writing_and_removing_leaves_a_study_that_mends_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = Study(tmp_path / "study")
    for model in MODELS[:2]:
        record(study, model)

    def killed(study: Study, keys: set[str]) -> None:
        if keys:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("engine.api.record._remove", killed)
        with pytest.raises(KeyboardInterrupt):
            record(study, MODELS[2])
    assert verify_study(study) == [] and len(study.runs()) == 2
    record(study, MODELS[2] | {"sparsity": 0.95})
    assert [study.run_record(run).spec.sparsities for run in study.runs()] == [(0.0, 0.5, 0.9, 0.95)]
