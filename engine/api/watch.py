"""Models of any toolkit recorded as they are: one by one, or as a pruning loop hands them on."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
from numpy.typing import ArrayLike

from engine.api.any_model import Answers, is_torch_module, model_answers, n_weights
from engine.api.public_study import Study
from engine.errors import PruneScopeError

Model = TypeVar("Model")


def record(
    model: Any,
    data: Any = None,
    *,
    study: "str | Path | Study",
    sparsity: float | None = None,
    technique: str = "",
    seed: int = 0,
    groups: Mapping[str, ArrayLike] | pd.DataFrame | None = None,
    classes: Sequence[object] | None = None,
    dataset: str = "own",
    network: str = "model",
    treatment: str = "unstated",
    mitigation: str = "none",
) -> str:
    """Key of the run that now holds what this model answers to the data.

    `model` is a PyTorch module with a loader that does not shuffle, a scikit-learn estimator with (X, y), a function of
    inputs with batches of (inputs, labels), or what a Hugging Face `Trainer.predict` returned, without data. Without
    `sparsity` the zeros of a module are counted. `classes` names the model's outputs in their order.
    """
    own = _opened(study)
    share = _measured_sparsity(model) if sparsity is None else sparsity
    said = model_answers(model, data)
    names = _Names(groups, classes, dataset, network, treatment, mitigation)
    return _write(own, said, share, technique, seed, names)


def watch(
    steps: Iterable[Model | tuple[Model, float]],
    data: Any,
    *,
    study: "str | Path | Study",
    technique: str,
    seed: int = 0,
    groups: Mapping[str, ArrayLike] | pd.DataFrame | None = None,
    classes: Sequence[object] | None = None,
    dataset: str = "own",
    network: str = "model",
    treatment: str = "unstated",
    mitigation: str = "none",
) -> Iterator[Model]:
    """The models that a pruning loop yields, each recorded before it is handed on; the first is the dense one.

    A loop yields a model after each step, or (model, sparsity). Without a sparsity it is the share of the first model's
    weights that are 0 or gone, so that zeroed weights and removed channels count alike.
    """
    own = _opened(study)
    names = _Names(groups, classes, dataset, network, treatment, mitigation)
    first = 0
    for step in steps:
        model, share = step if isinstance(step, tuple) else (step, None)
        if share is None:
            _refuse_uncounted(model)
            total, kept = n_weights(model)
            first = first or total
            share = max(0.0, 1 - kept / first)
        _write(own, model_answers(model, data), share, technique, seed, names)
        yield model


@dataclass(frozen=True, eq=False)
class _Names:
    """What is alike for all models of a loop."""

    groups: Mapping[str, ArrayLike] | pd.DataFrame | None
    classes: Sequence[object] | None
    dataset: str
    network: str
    treatment: str
    mitigation: str


def _opened(study: "str | Path | Study") -> Study:
    return study if isinstance(study, Study) else Study(study)


def _measured_sparsity(model: Any) -> float:
    _refuse_uncounted(model)
    total, kept = n_weights(model)
    return 1 - kept / total


def _refuse_uncounted(model: Any) -> None:
    if not is_torch_module(model):
        raise PruneScopeError(f"The weights of a {type(model).__name__} cannot be counted; say its sparsity.")


def _write(study: Study, said: Answers, sparsity: float, technique: str, seed: int, names: _Names) -> str:
    """Record the answers, under the names of the classes where the model's outputs have some."""
    predictions, labels, classes = said.predictions, said.labels, names.classes
    if said.n_outputs:
        classes = list(range(said.n_outputs)) if classes is None else list(classes)
        if len(classes) != said.n_outputs:
            raise PruneScopeError(f"There are {len(classes)} classes; the model has {said.n_outputs} outputs.")
        texts = [str(name) for name in classes]
        predictions, labels = ([texts[place] for place in own] for own in (predictions, labels))  # type: ignore[assignment]
    if sparsity > 0 and not technique:
        raise PruneScopeError(f"The model has a sparsity of {sparsity:g}; say by which technique it was pruned.")
    return study.record(
        predictions,
        labels,
        sparsity=sparsity,
        technique=technique if sparsity > 0 else "dense",
        seed=seed,
        groups=names.groups,
        probability=said.probability,
        dataset=names.dataset,
        network=names.network,
        treatment=names.treatment,
        mitigation=names.mitigation,
        classes=classes,
    )
