"""What a model of any toolkit answers to the examples of a loader: classes, labels, and the true class's probability.

PyTorch modules are asked batch by batch, scikit-learn estimators in one call; what a Hugging Face `Trainer.predict`
returns is taken as it is. Any other callable is asked like a module. Nothing of these toolkits is imported here unless
the caller has done so.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.errors import PruneScopeError

LABELS = ("labels", "label", "target", "targets", "y")
"""What the true class is called in batches that are dictionaries."""
SUM_TOLERANCE = 1e-3
"""How far from 1 the scores of an example may sum where they count as probabilities, not as logits."""


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model says of each example beside what is true; `n_outputs` is 0 where it names classes itself."""

    predictions: np.ndarray
    labels: np.ndarray
    probability: np.ndarray | None
    n_outputs: int = 0


def model_answers(model: Any, data: Any = None) -> Answers:
    """The answers of a model to all examples of `data`, in their order.

    `data` gives (inputs, labels) batch by batch, or dictionaries with labels; for an estimator it is the pair (X, y).
    """
    if hasattr(model, "predictions") and hasattr(model, "label_ids"):
        return _of_scores(_first_array(model.predictions), np.asarray(_first_array(model.label_ids)))
    if data is None:
        raise PruneScopeError("There is no data; give a loader of (inputs, labels), or the pair (X, y).")
    if not is_torch_module(model) and hasattr(model, "predict"):
        return _of_predictor(model, data)
    if not callable(model):
        raise PruneScopeError(
            f"A {type(model).__name__} is no model: it can be a torch module, a scikit-learn estimator, a function of "
            "inputs, or what Trainer.predict returns."
        )
    return _of_batches(model, data)


def is_torch_module(model: Any) -> bool:
    """Whether the model is a PyTorch module; where torch is not loaded nothing is."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def n_weights(model: Any) -> tuple[int, int]:
    """How many weights the linear and convolutional layers of a module have, and how many of them are not 0."""
    torch = sys.modules["torch"]
    kinds = (torch.nn.Linear, torch.nn.modules.conv._ConvNd)
    weights = [module.weight for module in model.modules() if isinstance(module, kinds)]
    if not weights:
        raise PruneScopeError("The model has no linear or convolutional layer to count; say its sparsity.")
    return sum(own.numel() for own in weights), sum(int((own != 0).sum()) for own in weights)


def _of_predictor(model: Any, data: Any) -> Answers:
    """Answers of an estimator to (X, y), or of a Hugging Face trainer to a data set."""
    if not (isinstance(data, tuple | list) and len(data) == 2):
        said = model.predict(data)
        if hasattr(said, "predictions") and hasattr(said, "label_ids"):
            return model_answers(said)
        raise PruneScopeError(f"For a {type(model).__name__} the data should be the pair (X, y).")
    inputs, labels = data[0], np.asarray(data[1])
    said = np.asarray(model.predict(inputs))
    if said.ndim != 1:
        return _of_scores(said, labels)
    chances = None
    if hasattr(model, "predict_proba"):
        classes = {value: place for place, value in enumerate(np.asarray(model.classes_).tolist())}
        table = np.asarray(model.predict_proba(inputs))
        places = np.array([classes.get(value, -1) for value in labels.tolist()])
        chances = np.where(places < 0, 0.0, table[np.arange(len(table)), places])
    return Answers(said, labels, chances)


def _of_batches(model: Any, data: Iterable[Any]) -> Answers:
    """Answers of a module or a function, batch by batch, as in evaluation: no gradient, no dropout."""
    _refuse_shuffled(data)
    scores, labels = [], []
    with ExitStack() as stack:
        device = _as_in_evaluation(model, stack) if is_torch_module(model) else None
        for number, batch in enumerate(data):
            inputs, truth = _parts(batch, number)
            said = model(**_moved(inputs, device)) if isinstance(inputs, Mapping) else model(_moved(inputs, device))
            scores.append(_array(_first_output(said)))
            labels.append(np.atleast_1d(_array(truth)))
    if not scores:
        raise PruneScopeError("The loader has no batch.")
    return _of_scores(np.concatenate(scores), np.concatenate(labels))


def _as_in_evaluation(model: Any, stack: ExitStack) -> Any:
    """Device of the module, which is in evaluation mode until the stack closes, and then as it was."""
    torch = sys.modules["torch"]
    training = [module for module in model.modules() if module.training]
    stack.callback(_train_again, training)
    model.eval()
    stack.enter_context(torch.no_grad())
    return next((own.device for own in model.parameters()), None)


def _train_again(modules: Iterable[Any]) -> None:
    for module in modules:
        module.training = True


def _refuse_shuffled(data: Any) -> None:
    """Refuse a loader that gives its examples in another order each time: answers are joined by their places."""
    torch = sys.modules.get("torch")
    sampler = getattr(data, "sampler", None)
    if torch is not None and isinstance(sampler, torch.utils.data.RandomSampler):
        raise PruneScopeError(
            "The loader shuffles; models are compared example by example, so give one with shuffle=False."
        )


def _parts(batch: Any, number: int) -> tuple[Any, Any]:
    """Inputs and labels of a batch."""
    if isinstance(batch, Mapping):
        name = next((own for own in LABELS if own in batch), None)
        if name is not None:
            return {key: value for key, value in batch.items() if key != name}, batch[name]
        raise PruneScopeError(f"Batch {number} has no labels; it has {', '.join(map(str, batch))}.")
    if isinstance(batch, Sequence) and len(batch) >= 2:
        return batch[0], batch[1]
    raise PruneScopeError(f"Batch {number} is a {type(batch).__name__}; it should be (inputs, labels) or a dictionary.")


def _moved(values: Any, device: Any) -> Any:
    if isinstance(values, Mapping):
        return {name: _moved(own, device) for name, own in values.items()}
    return values.to(device) if device is not None and hasattr(values, "to") else values


def _first_output(said: Any) -> Any:
    """The scores among what a model returns: `logits` where it has them, the first of several otherwise."""
    if isinstance(said, Mapping):
        return said["logits"] if "logits" in said else next(iter(said.values()))
    if hasattr(said, "logits"):
        return said.logits
    return said[0] if isinstance(said, tuple | list) and len(said) and np.ndim(said[0]) else said


def _first_array(values: Any) -> Any:
    return values[0] if isinstance(values, tuple) else values


def _array(values: Any) -> np.ndarray:
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.float() if values.is_floating_point() else values
    return np.asarray(values)


def _of_scores(scores: np.ndarray, labels: np.ndarray) -> Answers:
    """Answers by scores of shape (n, classes); whole numbers are classes.

    A single score is the logit of class 1, or its probability where all lie between 0 and 1.
    """
    scores, labels = np.asarray(scores), np.asarray(labels)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if len(scores) != len(labels):
        raise PruneScopeError(f"The model answers {len(scores):,} examples; there are {len(labels):,} labels.")
    if scores.ndim == 1 and not np.issubdtype(scores.dtype, np.floating):
        return Answers(scores, labels, None)
    if scores.ndim == 1 or (scores.ndim == 2 and scores.shape[1] == 1):
        own = scores.reshape(-1)
        is_chance = bool(((own >= 0) & (own <= 1)).all())  # as logits they would all say class 1
        scores = np.stack([1 - own if is_chance else np.zeros_like(own), own], axis=1)
    if scores.ndim != 2:
        raise PruneScopeError(
            f"The model's output has the shape {scores.shape}; it should be one score for each example and class."
        )
    bad = ~np.isfinite(scores).all(1)
    if bad.any():
        raise PruneScopeError(f"The model's output for example {int(np.argmax(bad))} is not finite.")
    places = labels.astype(np.int64) if np.issubdtype(labels.dtype, np.number) else None
    if places is None or (places != labels).any() or places.min() < 0 or places.max() >= scores.shape[1]:
        raise PruneScopeError(
            f"Labels should be whole numbers from 0 to {scores.shape[1] - 1}, places among the model's outputs."
        )
    chances = _probabilities(scores.astype(float))
    return Answers(scores.argmax(1), places, chances[np.arange(len(places)), places], scores.shape[1])


def _probabilities(scores: np.ndarray) -> np.ndarray:
    """The scores where they are probabilities already; else their softmax."""
    if (scores >= 0).all() and np.allclose(scores.sum(1), 1, atol=SUM_TOLERANCE):
        return np.asarray(scores.clip(0, 1))
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return np.asarray(powers / powers.sum(1, keepdims=True))
