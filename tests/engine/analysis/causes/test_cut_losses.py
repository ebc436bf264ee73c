"""Excessive losses right after the cut and after training, against plain loops and a run of the engine."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engine.analysis.causes.cut_losses import excessive_losses, violations
from engine.analysis.columns import MODEL
from engine.specs.checks import validate_spec
from engine.store import catalog
from tests.engine.runs.test_run import TINY, run_in

NAMES = ("a", "b", "c")


def made(n_seeds: int = 3) -> pd.DataFrame:
    """Losses of three groups at three levels, made up."""
    rng = np.random.default_rng(0)
    rows = [
        {"run": f"r{seed}", **dict.fromkeys(MODEL, "x"), "seed": seed, "level": level, "sparsity": 0.3 * level}
        | {"grouping": "side", "group": name, "n": 10, "correct": 5, "loss": rng.random(), "cut_correct": 4.0}
        | {"cut_loss": rng.random() if level else np.nan}
        for seed in range(n_seeds)
        for level in range(3)
        for name in NAMES
    ]
    return pd.DataFrame(rows)


def test_they_are_those_of_a_plain_loop() -> None:
    losses = made()
    of = losses.set_index(["run", "level", "group"])
    rows = excessive_losses(losses)
    assert len(rows) == 3 * 2 * 3
    for row in rows.itertuples():
        dense = of.loc[(row.run, 0, row.group), "loss"]
        assert row.cut == of.loc[(row.run, row.level, row.group), "cut_loss"] - dense
        assert row.trained == of.loc[(row.run, row.level, row.group), "loss"] - dense
    table = violations(rows).set_index("level")
    for level in (1, 2):
        here = rows[rows["level"] == level]
        spreads = [np.ptp(here.loc[here["run"] == run, "cut"]) for run in ("r0", "r1", "r2")]
        assert table.loc[level, "cut"] == pytest.approx(np.mean(spreads)) and table.loc[level, "n_seeds"] == 3
        assert table.loc[level, "cut_low"] < table.loc[level, "cut"] < table.loc[level, "cut_high"]


def test_a_cut_while_training_and_a_lone_group_are_unknown() -> None:
    losses = made(2)
    assert violations(excessive_losses(losses.assign(cut_loss=np.nan)))["cut"].isna().all()
    alone = violations(excessive_losses(losses[losses["group"] == "a"]))
    assert alone[["cut", "trained"]].isna().all(axis=None)
    assert excessive_losses(losses[losses["level"] > 0]).empty


def test_training_takes_back_most_of_what_the_cut_costs_and_a_control_is_cut_by_nothing(tmp_path: Path) -> None:
    once = replace(TINY, treatment="finetune", schedule="oneshot", sparsities=(0.6,), levels=20, epochs=2)
    study = run_in(tmp_path, validate_spec(once))
    run_in(tmp_path, validate_spec(replace(once, technique="unpruned")))
    tables = catalog.refresh(study, "levels")
    columns = ["run", *MODEL, "seed", "level", "sparsity"]
    pruned, control = (
        excessive_losses(study.run_tables(rows[columns], "losses")) for rows in (tables.levels, tables.control_levels)
    )
    assert pruned["cut"].mean() > pruned["trained"].mean() and (control["cut"] == 0).all()
    assert (control["trained"] != 0).all() and set(pruned["grouping"]) == {"class"}
