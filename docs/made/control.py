"""Pruning against the same training without it."""

import pandas as pd

from docs.made.good import TECHNIQUES, Cell, direction
from docs.made.study import AT_ONCE, LATER, WRITERS, Demo, markdown
from engine.analysis.curves.controls import Against, against_control
from engine.analysis.distortion.alpha import alphas
from engine.analysis.distortion.verdicts import verdict
from engine.analysis.unfairness import unfairness_table
from pages.shared import formats
from pages.shared.names import technique_name

LEVEL = 20
"""The level that findings speak of, the last."""


def control_table(demo: Demo) -> str:
    """Accuracy and alpha by data set, technique and ratio against the control's, and what is left of the paper's
    direction."""
    rows: list[tuple[str, ...]] = []
    found: list[Cell] = []
    for dataset in ("fashion-mnist", "qmnist"):
        wanted = {"dataset": dataset, "protocol": AT_ONCE}
        runs, trained = demo.of(demo.classes, **wanted), demo.of(demo.control_classes, **wanted)
        if runs.empty or trained.empty:
            rows.append((dataset, LATER, *[""] * 7))
            continue
        models, controls = alphas(runs[runs["technique"].isin(TECHNIQUES)]), alphas(trained)
        for technique in TECHNIQUES:
            pruned = models[(models["technique"] == technique) & (models["level"] > 0)]
            for _, cell in pruned.groupby("level"):
                ratio = f"{1 / (1 - cell['sparsity'].mean()):.0f}"
                accuracy, alpha = (against_control(cell, controls, name, 0.99) for name in ("accuracy", "alpha"))
                if accuracy is None or alpha is None:
                    continue
                said = str(verdict(1 + alpha.low, 1 + alpha.high)) if alpha.low == alpha.low else "one seed"
                facts = (_points(accuracy), f"{alpha.control:.3f}", f"{alpha.model:.3f}", _number(alpha), said)
                rows.append((dataset, technique_name(technique), ratio, *facts, str(alpha.n_seeds)))
                found.append(Cell(technique, float(ratio), said, alpha.n_seeds))
    heads = ["data set", "technique", "ratio", "accuracy (99 %)", "alpha, control", "alpha", "difference (99 %)"]
    table = markdown(pd.DataFrame(rows, columns=[*heads, "verdict", "seeds"]))
    return f"{direction(found, 'Against the control, random pruning aside')}{table}"


def training_finding(demo: Demo) -> str:
    """What a finetuned network gains on the dense one, and what it loses against the control; empty without one."""
    wanted = {"dataset": "qmnist", "protocol": WRITERS["protocol"]}
    kind = wanted | {"technique": WRITERS["technique"], "treatment": "finetune"}
    models = _with_gap(demo.of(demo.levels, **kind), demo.of(demo.classes, **kind))
    controls = _with_gap(demo.of(demo.control_levels, **wanted), demo.of(demo.control_classes, **wanted))
    here, dense = (models[models["level"] == level] for level in (LEVEL, 0))
    accuracy, gap = (against_control(here, controls, name) for name in ("accuracy", "max_min"))
    if accuracy is None or gap is None:
        return ""
    gained, widened = (float(here[name].mean() - dense[name].mean()) for name in ("accuracy", "max_min"))
    since = [formats.points(change) for change in (gained, widened)]
    looks_harmless = gained >= 0 or widened <= 0
    claim = "Longer training can look like harmless pruning" if looks_harmless else "The fair comparison costs more"
    if not looks_harmless and (accuracy.change >= gained or gap.change <= widened):
        return ""
    return (
        f"**{claim}.** On QMNIST, global magnitude, finetuned level by level to "
        f"{formats.sparsity(here['sparsity'].mean())}, changes accuracy by {since[0]} and the gap between classes by "
        f"{since[1]} since the dense network. Against one that trained as long without pruning, it changes them by "
        f"{_points(accuracy)} and {_points(gap)} (95 %; {formats.seeds(accuracy.n_seeds)})."
    )


def _with_gap(levels: pd.DataFrame, classes: pd.DataFrame) -> pd.DataFrame:
    """The models with their class gap."""
    if levels.empty:
        return levels.assign(max_min=float("nan"))
    return levels.merge(unfairness_table(classes, ["max_min"])[["run", "level", "max_min"]], on=["run", "level"])


def _points(found: Against) -> str:
    low, high = (formats.points(end).removesuffix(" pt") for end in (found.low, found.high))
    return f"{formats.points(found.change)} ({low} to {high})"


def _number(found: Against) -> str:
    return f"{found.change:+.3f} ({found.low:+.3f} to {found.high:+.3f})"
