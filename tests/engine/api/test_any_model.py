"""Models of PyTorch, scikit-learn and Hugging Face are recorded as they are, and pruning loops step by step."""

import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from torch import nn
from torch.nn.utils import prune
from torch.utils.data import DataLoader, TensorDataset

import prunescope as ps
from engine.store.verification.verify import verify_study

TOP = Path(__file__).resolve().parents[3]
N, N_CLASSES = 90, 3
RNG = np.random.default_rng(0)
INPUTS = RNG.normal(size=(N, 5)).astype(np.float32)
LABELS = np.arange(N) % N_CLASSES
REGION = np.where(np.arange(N) < 30, "rural", "urban")
LOADER = DataLoader(TensorDataset(torch.tensor(INPUTS), torch.tensor(LABELS)), batch_size=32)


class Output(NamedTuple):
    """What a Hugging Face `Trainer.predict` returns."""

    predictions: Any
    label_ids: Any
    metrics: dict[str, float]


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 8), nn.Dropout(0.5), nn.ReLU(), nn.Linear(8, N_CLASSES))


def logits(model: nn.Module) -> torch.Tensor:
    with torch.no_grad():
        return model.eval()(torch.tensor(INPUTS))


def recorded(study: Path, key: str, level: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rows = ps.Study(study).predictions(key)
    rows = rows[rows["level"] == level]
    return rows["prediction"].to_numpy(), rows["probability"].to_numpy()


def test_a_module_is_recorded_as_it_answers_in_evaluation_and_left_as_it_was(tmp_path: Path) -> None:
    model = network().train()
    key = ps.record(model, LOADER, study=tmp_path / "s", groups={"region": REGION}, classes=("cat", "dog", "owl"))
    assert all(module.training for module in model.modules()) and torch.is_grad_enabled()
    scores = logits(model)
    said, chances = recorded(tmp_path / "s", key)
    assert said.tolist() == scores.argmax(1).tolist()
    expected = scores.softmax(1)[range(N), LABELS]
    np.testing.assert_allclose(chances, expected, atol=1e-3)
    study = ps.Study(tmp_path / "s")
    assert verify_study(study) == [] and study.class_facts("own")["name"].tolist() == ["cat", "dog", "owl"]
    assert study.examples("own")["region"].tolist() == REGION.tolist()


def wrapped(kind: str, model: nn.Module) -> tuple[Any, Any]:
    """The same model and data in the form of each toolkit."""
    batches = [(torch.tensor(INPUTS[at : at + 40]), torch.tensor(LABELS[at : at + 40])) for at in range(0, N, 40)]
    if kind == "dictionaries":
        model_of = type("Classifier", (nn.Module,), {"forward": lambda self, x: SimpleNamespace(logits=self.inner(x))})
        classifier = model_of()
        classifier.inner = model
        return classifier, [{"x": inputs, "labels": truth} for inputs, truth in batches]
    if kind == "function of arrays":
        return lambda inputs: logits(model)[: len(inputs)].numpy(), [(INPUTS, LABELS)]
    if kind == "function that names classes":
        return lambda inputs: logits(model).argmax(1).numpy(), [(INPUTS, LABELS)]
    if kind == "trainer's output":
        return Output(logits(model).numpy(), LABELS, {}), None
    trainer = SimpleNamespace(predict=lambda rows: Output((logits(model).numpy(), None), LABELS, {}))
    return trainer, "a data set"


KINDS = ("dictionaries", "function of arrays", "function that names classes", "trainer's output", "trainer")


@pytest.mark.parametrize("kind", KINDS)
def test_every_form_of_a_model_gives_the_same_answers(tmp_path: Path, kind: str) -> None:
    model = network()
    form, data = wrapped(kind, model)
    key = ps.record(form, data, study=tmp_path / "s", sparsity=0)
    assert ps.Study(tmp_path / "s").predictions(key)["prediction"].tolist() == logits(model).argmax(1).tolist()


@pytest.mark.parametrize("estimator", [LogisticRegression(), LinearSVC()], ids=lambda e: type(e).__name__)
def test_an_estimator_is_recorded_with_its_probabilities_where_it_has_them(tmp_path: Path, estimator: Any) -> None:
    names = np.array(["cat", "dog", "owl"])[LABELS]
    model = estimator.fit(INPUTS, names)
    key = ps.record(model, (INPUTS, names), study=tmp_path / "s", sparsity=0)
    study = ps.Study(tmp_path / "s")
    said = study.class_facts("own")["name"].to_numpy()[study.predictions(key)["prediction"]]
    assert said.tolist() == model.predict(INPUTS).tolist()
    if hasattr(model, "predict_proba"):
        expected = model.predict_proba(INPUTS)[range(N), LABELS]
        np.testing.assert_allclose(study.predictions(key)["probability"], expected, atol=1e-3)
    else:
        assert "probability" not in study.predictions(key)


def test_one_score_an_example_is_the_logit_of_class_one(tmp_path: Path) -> None:
    model, truth = nn.Linear(5, 1), (np.arange(N) % 2).astype(float)
    key = ps.record(model, [(torch.tensor(INPUTS), torch.tensor(truth))], study=tmp_path / "s")
    chance = torch.sigmoid(logits(model))[:, 0].numpy()
    said, chances = recorded(tmp_path / "s", key)
    assert said.tolist() == (chance > 0.5).tolist()
    np.testing.assert_allclose(chances, np.where(truth == 1, chance, 1 - chance), atol=1e-3)


def test_one_score_an_example_that_is_a_probability_already_is_taken_as_one(tmp_path: Path) -> None:
    model, truth = nn.Sequential(nn.Linear(5, 1), nn.Sigmoid()), (np.arange(N) % 2).astype(float)
    key = ps.record(model, [(torch.tensor(INPUTS), torch.tensor(truth))], study=tmp_path / "s")
    chance = logits(model)[:, 0].numpy()
    said, chances = recorded(tmp_path / "s", key)
    assert said.tolist() == (chance > 0.5).tolist() and 0 < said.sum() < N
    np.testing.assert_allclose(chances, np.where(truth == 1, chance, 1 - chance), atol=1e-3)


def test_an_onnx_session_is_recorded_as_a_function(tmp_path: Path) -> None:
    runtime, model = pytest.importorskip("onnxruntime"), network().eval()
    shapes = ({0: torch.export.Dim("batch")},)
    path = str(tmp_path / "model.onnx")
    torch.onnx.export(
        model, (torch.tensor(INPUTS[:4]),), path, dynamo=True, dynamic_shapes=shapes, external_data=False, verbose=False
    )
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    batches = [(INPUTS[at : at + 32], LABELS[at : at + 32]) for at in range(0, N, 32)]
    name = session.get_inputs()[0].name
    key = ps.record(lambda rows: session.run(None, {name: rows})[0], batches, study=tmp_path / "s", sparsity=0)
    said, chances = recorded(tmp_path / "s", key)
    assert said.tolist() == logits(model).argmax(1).tolist()
    np.testing.assert_allclose(chances, logits(model).softmax(1)[range(N), LABELS], atol=1e-3)


def halving_loop(model: nn.Module) -> Iterator[nn.Module]:
    yield model
    for _ in range(3):
        prune.global_unstructured([(model[0], "weight"), (model[3], "weight")], prune.L1Unstructured, amount=0.5)
        yield model


def test_a_loop_is_watched_with_the_sparsity_that_is_counted(tmp_path: Path) -> None:
    expected = []
    for model in ps.watch(halving_loop(network()), LOADER, study=tmp_path / "s", technique="l1", seed=4):
        expected.append(logits(model).argmax(1).tolist())
    study = ps.Study(tmp_path / "s")
    levels = study.levels()
    assert levels["sparsity"].tolist() == [0, 0.5, 0.75, 0.875] and set(levels["seed"]) == {4}
    rows = study.predictions(levels["run"].iloc[0])
    assert rows.groupby("level")["prediction"].apply(list).tolist() == expected


def test_the_dense_model_of_two_loops_is_one_and_a_loop_may_run_twice(tmp_path: Path) -> None:
    for technique in ("l1", "l1", "other"):
        for _ in ps.watch(halving_loop(network()), LOADER, study=tmp_path / "s", technique=technique):
            pass
    levels = ps.Study(tmp_path / "s").levels()
    assert levels.groupby("technique", observed=True).size().to_dict() == {"l1": 4, "other": 4}
    assert verify_study(ps.Study(tmp_path / "s")) == []


BAD: list[tuple[Any, Any, dict[str, Any], str]] = [
    (network(), DataLoader(LOADER.dataset, batch_size=8, shuffle=True), {}, "The loader shuffles"),
    (network(), None, {}, "There is no data"),
    (network(), [], {}, "The loader has no batch"),
    (network(), [torch.tensor(INPUTS)], {}, "Batch 0 is a Tensor"),
    (network(), [{"x": torch.tensor(INPUTS)}], {}, "Batch 0 has no labels; it has x"),
    (network(), [(torch.tensor(INPUTS), torch.tensor(LABELS + 1))], {}, "whole numbers from 0 to 2"),
    (network(), [(torch.tensor(INPUTS), torch.tensor(LABELS[:-1]))], {}, "answers 90 examples; there are 89 labels"),
    (network(), LOADER, {"classes": ("cat", "dog")}, "There are 2 classes; the model has 3 outputs"),
    (network(), LOADER, {"sparsity": 0.5}, "say by which technique it was pruned"),
    (nn.Flatten(), LOADER, {}, "no linear or convolutional layer"),
    (lambda inputs: inputs * np.nan, LOADER, {"sparsity": 0}, "output for example 0 is not finite"),
    (lambda inputs: inputs[:, None], LOADER, {"sparsity": 0}, r"shape \(90, 1, 5\)"),
    (lambda inputs: inputs, LOADER, {}, "cannot be counted; say its sparsity"),
    (LogisticRegression().fit(INPUTS, LABELS), (INPUTS, LABELS), {}, "cannot be counted; say its sparsity"),
    (SimpleNamespace(predict=lambda rows: None), INPUTS, {"sparsity": 0}, r"should be the pair \(X, y\)"),
    (7, LOADER, {"sparsity": 0}, "A int is no model"),
]


@pytest.mark.parametrize(("model", "data", "more", "sentence"), BAD, ids=[sentence[:28] for *_, sentence in BAD])
def test_what_cannot_be_recorded_is_refused_and_nothing_written(
    tmp_path: Path, model: Any, data: Any, more: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ps.PruneScopeError, match=sentence) as refusal:
        ps.record(model, data, study=tmp_path / "s", **more)
    assert "\n" not in str(refusal.value) and not (tmp_path / "s" / "runs").exists()


def run_example(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> ps.Study:
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(TOP / "examples")
    monkeypatch.delitem(sys.modules, "watch_pruning", raising=False)
    runpy.run_path(str(TOP / "examples" / name), run_name="__main__")
    return ps.Study(folder / "watched-study")


@pytest.mark.parametrize(
    ("name", "technique", "n_levels"), [("watch_pruning.py", "global-l1", 5), ("watch_torch_pruning.py", "units", 4)]
)
def test_the_examples_of_loops_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, technique: str, n_levels: int
) -> None:
    if "torch_pruning" in re.sub(r"\W", " ", (TOP / "examples" / name).read_text()).split():
        pytest.importorskip("torch_pruning", reason="Torch-Pruning is not installed")
    study = run_example(name, tmp_path, monkeypatch)
    levels = study.levels()
    assert set(levels["technique"]) == {technique} and levels["seed"].nunique() == 3
    means = levels.groupby("level")[["sparsity", "accuracy"]].mean()
    assert len(means) == n_levels and means["sparsity"].is_monotonic_increasing
    assert means["accuracy"].iloc[0] > 0.85 and means["accuracy"].iloc[-1] < means["accuracy"].iloc[0]
    assert verify_study(study) == []
