"""How a training goes beside its length: how the learning rate falls, and which epoch's weights it leaves."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from engine.run_spec import RunSpec


@dataclass(frozen=True)
class RateScheduleRow:
    """One course of the learning rate; `factor` is its share of `learning_rate` once a share of the steps is done."""

    key: str
    label: str
    help: str
    factor: Callable[[float], float]


@dataclass(frozen=True)
class LearningRow:
    """One way of training: a rule for the epoch whose weights are left, a precision or an optimiser."""

    key: str
    label: str
    help: str


def _steps(done: float) -> float:
    return 0.01 if done >= 0.75 else 0.1 if done >= 0.5 else 1.0


def _cosine(done: float) -> float:
    return (1 + math.cos(math.pi * done)) / 2


RATE_SCHEDULES: dict[str, RateScheduleRow] = {
    row.key: row
    for row in (
        RateScheduleRow("constant", "Constant", "The rate stays.", lambda done: 1.0),
        RateScheduleRow(
            "step",
            "Two steps",
            "The rate is divided by 10 after half of each training and after three quarters.",
            _steps,
        ),
        RateScheduleRow(
            "cosine", "Cosine", "The rate falls to 0 over each training along half a cosine, step by step.", _cosine
        ),
    )
}

KEPT_EPOCHS: dict[str, LearningRow] = {
    row.key: row
    for row in (
        LearningRow("last", "Last", "Each training leaves the weights of its last epoch."),
        LearningRow(
            "best",
            "Best on validation",
            "Each training leaves the weights of the epoch with the smallest loss on validation, the first of equals; "
            "while weights are still being cut, none counts.",
        ),
    )
}

PRECISIONS: dict[str, LearningRow] = {
    row.key: row
    for row in (
        LearningRow("full", "Full", "Training computes in 32 bits."),
        LearningRow(
            "mixed",
            "Mixed",
            "Layers compute in bfloat16 while they train, which is quicker on GPUs; weights, steps and tests stay in "
            "32 bits.",
        ),
    )
}

OPTIMIZERS: dict[str, LearningRow] = {
    row.key: row
    for row in (
        LearningRow("sgd", "SGD", "Stochastic gradient descent, with momentum where that is set."),
        LearningRow("adam", "Adam", "Adam (betas 0.9 and 0.999); weight decay is added to the gradients."),
        LearningRow("adamw", "AdamW", "Adam whose weight decay shrinks the weights themselves."),
    )
}


def learning_rate(spec: RunSpec, done: float) -> float:
    """The learning rate of the next step once this share of a training's steps is done, 0 to 1."""
    return spec.learning_rate * RATE_SCHEDULES[spec.rate_schedule].factor(done)
