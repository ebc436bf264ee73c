"""How unequally does a model treat its classes: the table of unfairness measures, and their values for many models.

Every measure grows with unfairness and works on matrices (n_models, n_classes) with NaN for missing classes. Groups of
any other kind stand in the place of classes where `groupings` has counted them.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from engine.analysis.class_matrices import Block, as_matrices
from engine.analysis.columns import CLASS, MODEL
from engine.analysis.distortion.alpha import NO_DENSE, model_accuracy, normalised_balance
from engine.analysis.distortion.alpha import intensification as slope_of_balances

Floats = NDArray[np.float64]

TOO_FEW_CLASSES = "fewer than two classes have test examples"
NO_LOSS = "the losses of the classes were not recorded"
NO_SLOPE = "the classes were equal before pruning, or a model gets nothing right"
TOO_FEW_GROUPS = "fewer than two groups have enough test examples"
NO_GROUP_LOSS = "losses are recorded for classes, not for groups"


@dataclass(frozen=True)
class UnfairnessRow:
    """One measure: how it is shown, and how it is computed from the inputs that it needs, in their order.

    `unit`: a difference of accuracies, shown in points, or a number of another kind. `symbol`: the name that sentences
    give to its values, where they have one of their own.
    """

    key: str
    label: str
    help: str
    formula: str
    source: str
    needs: tuple[str, ...]
    compute: Callable[..., Floats]
    unit: Literal["points", "number"] = "points"
    symbol: str = ""

    @property
    def needs_dense(self) -> bool:
        """Whether it looks back at the run's dense level."""
        return bool({"dense", "dense_loss"} & set(self.needs))

    def label_between(self, grouping: str = CLASS) -> str:
        """The label where it is measured between classes, or between the groups of a column."""
        return self.label if grouping == CLASS else _of_groups(self.label)

    def help_between(self, grouping: str = CLASS) -> str:
        """The help where it is measured between classes, or between the groups of a column."""
        return self.help if grouping == CLASS else _of_groups(self.help)


BASELINE, BASELINE_LOSS = "baseline", "baseline_loss"
"""Columns of a table of classes that may hold the accuracy and the loss of another network than the run's dense one,
such as one that trained as long; measures that look back then look back at that."""

INPUTS: dict[str, Callable[[Block], Floats]] = {
    "accuracy": lambda block: block.matrix("correct") / block.sizes(),
    "dense": lambda block: block.baseline(BASELINE, INPUTS["accuracy"](block)),
    "loss": lambda block: block.matrix("loss"),
    "dense_loss": lambda block: block.baseline(BASELINE_LOSS, INPUTS["loss"](block)),
    "prediction": lambda block: block.matrix("predicted"),
    "n": lambda block: block.sizes(),
}
"""What a measure may need, as (n_models, n_classes): class accuracy and mean loss, the same of the run's dense model,
how many examples the model puts into the class, and how many there are. Where the table names another baseline, that
stands in the place of dense."""


def max_min(accuracy: Floats) -> Floats:
    """max - min of class accuracy; NaN with fewer than two classes."""
    return _range(accuracy)


def mean_min(accuracy: Floats) -> Floats:
    """mean - min of class accuracy, classes weighing the same; NaN with fewer than two classes."""
    return np.where(_count(accuracy) > 1, np.maximum(_mean(accuracy) - np.fmin.reduce(accuracy, axis=1), 0), np.nan)


def standard_deviation(accuracy: Floats) -> Floats:
    """Standard deviation of class accuracy over all classes (n below the line); NaN with fewer than two classes."""
    deviation = accuracy - _mean(accuracy)[:, None]
    return np.where(_count(accuracy) > 1, np.sqrt(_mean(deviation * deviation)), np.nan)


def change_range(accuracy: Floats, dense: Floats) -> Floats:
    """max - min of the change of class accuracy since dense; NaN with fewer than two classes."""
    return _range(accuracy - dense)


def worst_class(accuracy: Floats) -> Floats:
    """1 - min of class accuracy, the error of the worst class."""
    worst: Floats = np.fmin.reduce(accuracy, axis=1)
    return 1 - worst


def largest_loss(accuracy: Floats, dense: Floats) -> Floats:
    """max of the loss of class accuracy since dense; below 0 where every class gains."""
    loss: Floats = np.fmax.reduce(dense - accuracy, axis=1)
    return loss


def intensification(accuracy: Floats, dense: Floats, n: Floats) -> Floats:
    """alpha of the recall balances; NaN where every class equals the accuracy before pruning."""
    after = normalised_balance(accuracy, model_accuracy(accuracy * n, n))
    before = normalised_balance(dense, model_accuracy(dense * n, n))
    return slope_of_balances(before, after)


def excessive_loss_gap(loss: Floats, dense_loss: Floats) -> Floats:
    """max - min of the rise of class loss since dense, in nats; NaN with fewer than two classes."""
    with np.errstate(invalid="ignore"):  # a loss may be infinite
        return _range(loss - dense_loss)


UNFAIRNESS: dict[str, UnfairnessRow] = {
    "max_min": UnfairnessRow(
        key="max_min",
        label="Gap best to worst",
        help="Gap between the best and the worst class accuracy.",
        formula="max a_c - min a_c",
        source="Paganini 2020, Fig. 4a",
        needs=("accuracy",),
        compute=max_min,
    ),
    "mean_min": UnfairnessRow(
        key="mean_min",
        label="Gap average to worst",
        help="How far the worst class lies below the mean class accuracy.",
        formula="mean a_c - min a_c",
        source="Paganini 2020, Fig. 4b",
        needs=("accuracy",),
        compute=mean_min,
    ),
    "standard_deviation": UnfairnessRow(
        key="standard_deviation",
        label="Standard deviation",
        help="Spread of class accuracy over all classes.",
        formula="sqrt(mean (a_c - mean a)^2)",
        source="Good 2022, Appendix F (its square)",
        needs=("accuracy",),
        compute=standard_deviation,
    ),
    "change_range": UnfairnessRow(
        key="change_range",
        label="Gap of changes",
        help="Gap between the classes that gain most and lose most since the baseline.",
        formula="max (a_c - a_c0) - min (a_c - a_c0)",
        source="Paganini 2020, per-class change",
        needs=("accuracy", "dense"),
        compute=change_range,
    ),
    "worst_class": UnfairnessRow(
        key="worst_class",
        label="Worst class error",
        help="Error of the class that the model serves worst.",
        formula="1 - min a_c",
        source="Rawls' maximin",
        needs=("accuracy",),
        compute=worst_class,
    ),
    "largest_loss": UnfairnessRow(
        key="largest_loss",
        label="Largest loss",
        help="Accuracy that the class which loses most has lost since the baseline; below 0 where every class gains.",
        formula="max (a_c0 - a_c)",
        source="Paganini 2020, per-class change",
        needs=("accuracy", "dense"),
        compute=largest_loss,
    ),
    "intensification": UnfairnessRow(
        key="intensification",
        label="Intensification",
        help="By how much pruning stretches the gaps that were there: 1 is dense, below 1 evens out.",
        formula="sum b_c0 b_c / sum b_c0^2, b_c = (a_c - a) / a",
        source="Good 2022, Section 5",
        needs=("accuracy", "dense", "n"),
        compute=intensification,
        unit="number",
        symbol="alpha",
    ),
    "excessive_loss_gap": UnfairnessRow(
        key="excessive_loss_gap",
        label="Excessive loss gap",
        help="Gap between the classes whose loss rises most and least since the baseline.",
        formula="max R_c - min R_c, R_c = J_c - J_c0",
        source="Tran 2022, fairness violation",
        needs=("loss", "dense_loss"),
        compute=excessive_loss_gap,
        unit="number",
    ),
}


def unfairness_table(classes: pd.DataFrame, measures: Sequence[str] | None = None) -> pd.DataFrame:
    """One row per run and level: run, identity, seed, level, sparsity, n_classes, has_dense, one column per measure.

    `n_classes` counts the classes with test examples. A measure that needs the dense level is NaN if the run has none.
    Where `classes` has a column `baseline`, the accuracy of each class in another network, measures of a change are
    since that one (and those of losses since `baseline_loss`), and `has_dense` says whether the model has it.
    """
    return measured(classes, ["run", *MODEL, "seed", "level", "sparsity"], measures)


def measured(classes: pd.DataFrame, columns: Sequence[str], measures: Sequence[str] | None = None) -> pd.DataFrame:
    """`unfairness_table` with these columns of the classes for its first ones."""
    models = as_matrices(classes)
    rows = [UNFAIRNESS[key] for key in (UNFAIRNESS if measures is None else measures)]
    values = {row.key: np.full(len(models.first), np.nan) for row in rows}
    n_classes, has_dense = np.zeros(len(models.first), int), models.dense >= 0
    for block in models.blocks():
        n_classes[block.models] = _count(block.sizes())
        if BASELINE in classes:
            has_dense[block.models] = _count(block.matrix(BASELINE)) > 0
        inputs = {name: INPUTS[name](block) for name in {name for row in rows for name in row.needs}}
        for row in rows:
            values[row.key][block.models] = row.compute(*(inputs[name] for name in row.needs))
    table = classes.iloc[models.first][list(columns)].reset_index(drop=True)
    return table.assign(n_classes=n_classes, has_dense=has_dense, **values)


def unfairness_reason(model: pd.Series, measure: str, grouping: str = CLASS) -> str:
    """Why a row of `unfairness_table`, or of `group_unfairness_table`, has NaN for the measure; empty if it has not."""
    row, between_classes = UNFAIRNESS[measure], grouping == CLASS
    if not np.isnan(model[measure]):
        return ""
    if row.needs_dense and not model["has_dense"]:
        return NO_DENSE
    if model["n_classes"] < 2:
        return TOO_FEW_CLASSES if between_classes else TOO_FEW_GROUPS
    if "loss" in row.needs:
        return NO_LOSS if between_classes else NO_GROUP_LOSS
    return NO_SLOPE if between_classes else _of_groups(NO_SLOPE)


def _of_groups(words: str) -> str:
    """Words about classes as words about groups."""
    return re.sub(r"\bclass(es)?\b", lambda match: "groups" if match[1] else "group", words)


def _count(values: Floats) -> NDArray[np.intp]:
    count: NDArray[np.intp] = (~np.isnan(values)).sum(axis=1)
    return count


def _mean(values: Floats) -> Floats:
    count, total = _count(values), np.nansum(values, axis=1)
    mean: Floats = total / np.where(count > 0, count, np.nan)
    return mean


def _range(values: Floats) -> Floats:
    spread = np.fmax.reduce(values, axis=1) - np.fmin.reduce(values, axis=1)
    return np.where(_count(values) > 1, spread, np.nan)
