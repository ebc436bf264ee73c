"""Which network is a pruned one compared with: the same training without pruning, or the dense network at its start?"""

import numpy as np
import pandas as pd

from engine.analysis.columns import VARIANT
from engine.analysis.curves.class_curves import with_accuracy
from engine.analysis.curves.controls import Controls, control_runs

CONTROL, DENSE = "control", "dense"
BASELINES = (CONTROL, DENSE)
"""The same training, unpruned; the dense network at level 0."""

PAIR = ("run", "level", "baseline", "baseline_level", "kind")


def baselines(levels: pd.DataFrame, controls: Controls | None = None) -> pd.DataFrame:
    """The baseline of each model that has one: VARIANT, and PAIR, which names the baseline's run, level and kind.

    With `controls` it is the control of the same seed at the same level, where each seed of a pruned model has one.
    Else it is level 0 of the model's own run. All tables are of one experiment.
    """
    pairs = levels[[*VARIANT, "run", "level"]].astype({"run": str}).reset_index(drop=True)
    starts = set(pairs.loc[pairs["level"] == 0, "run"])
    control = _controls(pairs, levels, controls)
    trained = control.notna()
    pairs = pairs.assign(
        baseline=control.where(trained, pairs["run"].where(pairs["run"].isin(starts))),
        baseline_level=pairs["level"].where(trained, 0),
        kind=np.where(trained, CONTROL, DENSE),
    )
    return pairs.dropna(subset="baseline").reset_index(drop=True)


def beside_baselines(rows: pd.DataFrame, controls: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """The rows (run, level, accuracy) with the baseline's accuracy as `before`, NaN where there is none, and its kind.

    Rows of a class (class, n, correct) meet those of the same class. `controls` has the same rows of the controls.
    """
    keys = ["class"] if "class" in rows else []
    every = pd.concat([_rates(rows, keys), _rates(controls, keys)], ignore_index=True)
    every = every.rename(columns={"run": "baseline", "level": "baseline_level", "accuracy": "before"})
    rows = rows if "accuracy" in rows else with_accuracy(rows)
    named = rows.astype({"run": str}).merge(pairs[list(PAIR)], on=["run", "level"], how="left")
    named = named.merge(every, on=["baseline", "baseline_level", *keys], how="left")
    return named.drop(columns=["baseline", "baseline_level"])


def since_baselines(classes: pd.DataFrame, controls: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """The rows of classes, or of groups numbered as such, with accuracy and loss of the same class in the baseline.

    `unfairness_table` takes them (columns `baseline` and `baseline_loss`, NaN where there is none), so that measures of
    a change are since the baseline.
    """
    every = pd.concat([with_accuracy(table).astype({"run": str}) for table in (classes, controls)], ignore_index=True)
    every = every[["run", "level", "class", "accuracy", "loss"]]
    names = {"run": "of", "level": "at", "accuracy": "baseline", "loss": "baseline_loss"}
    named = pairs[list(PAIR[:4])].rename(columns={"baseline": "of", "baseline_level": "at"})
    rows = classes[["run", "level", "class"]].astype({"run": str}).merge(named, on=["run", "level"], how="left")
    rows = rows.merge(every.rename(columns=names), on=["of", "at", "class"], how="left")
    return classes.assign(**{name: rows[name].to_numpy() for name in ("baseline", "baseline_loss")})


def with_controls(curves: pd.DataFrame, controls: pd.DataFrame, pairs: pd.DataFrame) -> pd.DataFrame:
    """`class_curves` or `total_curves` with the mean accuracy of the controls as `control_accuracy`, NaN where a model
    is not compared with any."""
    keys = ["class"] if "class" in curves else []
    trained = pairs.loc[pairs["kind"] == CONTROL, [*VARIANT, "level", "baseline"]]
    if trained.empty:
        return curves.assign(control_accuracy=np.nan)
    rates = trained.merge(_rates(controls, keys).rename(columns={"run": "baseline"}), on=["baseline", "level"])
    names = [*VARIANT, "level", *keys]
    means = rates.groupby(names, observed=True)["accuracy"].mean().rename("control_accuracy").reset_index()
    return curves.merge(means, on=names, how="left")


def compared(curves: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """The curves of `with_controls` with the baseline's accuracy in the place of dense's; `controlled` says where that
    is the control's."""
    controlled = curves["control_accuracy"].notna() & (baseline == CONTROL)
    before = curves["control_accuracy"].where(controlled, curves["dense_accuracy"])
    return curves.assign(controlled=controlled, dense_accuracy=before)


def _controls(pairs: pd.DataFrame, levels: pd.DataFrame, controls: Controls | None) -> pd.Series:
    """The control of each model, missing where one of its seeds has none at this level."""
    if controls is None or controls.levels.empty:
        return pd.Series(None, pairs.index, dtype=object)
    control = pairs["run"].map(control_runs(levels.astype({"run": str}), controls)).astype(object)
    recorded = pd.MultiIndex.from_frame(controls.levels[["run", "level"]].astype({"run": str}))
    there = pd.MultiIndex.from_arrays([control.astype(str), pairs["level"]]).isin(recorded) & (pairs["level"] > 0)
    whole = there.groupby([pairs[name] for name in (*VARIANT, "level")], observed=True, dropna=False).transform("all")
    return control.where(whole)


def _rates(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    rates = rows if "accuracy" in rows else with_accuracy(rows)
    return rates[["run", "level", *keys, "accuracy"]].astype({"run": str})
