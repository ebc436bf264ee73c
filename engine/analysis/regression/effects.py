"""What do the coefficients say together: how accuracy changes, on average, when one thing changes and the rest stays.

Cross terms share one thing among many coefficients, so none of them alone is its effect.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from engine.analysis.regression.block_design import Design, in_one_thread
from engine.analysis.regression.design_columns import Layout
from engine.analysis.regression.least_squares import Fit
from engine.analysis.regression.standard_errors import Estimates, half_interval, two_sided_p

Floats = NDArray[np.float64]

STEPS = {"imbalance": 0.01, "entropy": 1.0, "accuracy0": 0.01}
"""How far each number is moved: a point of the training set, a bit, a point of accuracy."""

SMALL_STEP = 0.1
"""In bits, where the classes of a population lie within one bit."""

SWITCHED = ("treatment", "technique", "network")


@dataclass(frozen=True, eq=False)
class Change:
    """One thing that changes: a number moved by a step, or sparsity or a category from one value to another."""

    key: str
    begin: str | float
    end: str | float
    estimate: float
    """Mean change of class accuracy over the population."""
    gradient: Floats
    """Its derivative by the coefficients."""


@dataclass(frozen=True, eq=False)
class Setting:
    """A fit with its rows, from which others are imagined."""

    fit: Fit
    layout: Layout
    table: pd.DataFrame


def effects(setting: Setting, estimates: Mapping[str, Estimates]) -> pd.DataFrame:
    """One row per change and kind of errors: key, begin, end, errors, estimate, se, low, high, p (two-sided).

    `estimates` holds the coefficients by kind of errors. For a category begin and end are the values that keep least
    and most; for a number they are 0 and the step, for sparsity the population's quartiles.
    """
    return effect_rows(changes(setting), estimates)


def effect_rows(changed: Sequence[Change], estimates: Mapping[str, Estimates]) -> pd.DataFrame:
    """The same of changes that are known already."""
    rows = []
    for change in changed:
        for errors, result in estimates.items():
            se = np.sqrt(change.gradient @ result.covariance @ change.gradient)
            half = float(half_interval(se, result.degrees))
            ends = (change.estimate - half, change.estimate + half)
            p = float(two_sided_p(change.estimate / se, result.degrees)) if se > 0 else np.nan
            rows.append((change.key, change.begin, change.end, errors, change.estimate, float(se), *ends, p))
    names = ["key", "begin", "end", "errors", "estimate", "se", "low", "high", "p"]
    return pd.DataFrame(rows, columns=names)


@in_one_thread
def changes(setting: Setting) -> list[Change]:
    """Everything that is changed by itself."""
    used = setting.layout.factors
    now = _mean(setting.fit, setting.fit.design)
    found = [_step(setting, now, key) for key in STEPS if key in used]
    if used & {"sparsity", "exp_sparsity"}:
        found.append(_thinning(setting))
    return found + [_switch(setting, key) for key in SWITCHED if key in used]


def _step(setting: Setting, now: tuple[float, Floats], key: str) -> Change:
    values, step = setting.table[key].to_numpy(), STEPS[key]
    if key == "entropy" and np.ptp(values) < step:
        step = SMALL_STEP
    moved = _imagine(setting, key, values + step)
    return Change(key, 0.0, step, *_difference(_mean(setting.fit, moved), now))


def _thinning(setting: Setting) -> Change:
    low, high = np.quantile(setting.table["sparsity"], (0.25, 0.75), method="nearest")
    ends = [_mean(setting.fit, _imagine(setting, "sparsity", np.full(len(setting.table), at))) for at in (low, high)]
    return Change("sparsity", float(low), float(high), *_difference(ends[1], ends[0]))


def _switch(setting: Setting, key: str) -> Change:
    """From the category that keeps least to the one that keeps most."""
    names = list(setting.table[key].cat.categories)
    _, codes = setting.layout.blocks(setting.table)
    means = []
    for code in range(len(names)):
        on = setting.layout.switches(codes | {key: np.full_like(codes[key], code)})
        means.append(_mean(setting.fit, replace(setting.fit.design, on=on)))
    least, most = (int(place([value for value, _ in means])) for place in (np.argmin, np.argmax))
    return Change(key, str(names[least]), str(names[most]), *_difference(means[most], means[least]))


def _imagine(setting: Setting, column: str, values: Floats) -> Design:
    """The design if a column of the population had other values."""
    return replace(setting.fit.design, numeric=setting.layout.numeric(setting.table.assign(**{column: values})))


def _mean(fit: Fit, design: Design) -> tuple[float, Floats]:
    """Mean fitted accuracy over the rows of a design, and its derivative by the coefficients."""
    if fit.link == "linear":
        row = design.mean_row()
        return float(row @ fit.coefficients), row
    mean = fit.predict(design)
    return float(mean.mean()), design.mean_row(mean * (1 - mean))


def _difference(end: tuple[float, Floats], begin: tuple[float, Floats]) -> tuple[float, Floats]:
    return end[0] - begin[0], end[1] - begin[1]
