"""Pulled changes of members: statsmodels' mixed model as referee, and coverage on made-up writers of all sizes."""

import os

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from engine.analysis.members.shrunk_changes import shrunk_changes, variance_ratio
from tests.support.mixed_members import mixed_members

FULL_RUN = os.environ.get("PRUNESCOPE_FULL") == "1"
N_DRAWS = 1000 if FULL_RUN else 60


def test_ratio_mean_and_changes_equal_statsmodels() -> None:
    rng = np.random.default_rng(0)
    member = np.repeat(np.arange(200), rng.integers(5, 40, 200))
    change = -1 + rng.normal(0, 1, 200)[member] + rng.normal(0, 3, len(member))
    fit = sm.MixedLM(change, np.ones(len(change)), member).fit(reml=True)
    n, means = np.bincount(member).astype(float), np.bincount(member, change) / np.bincount(member)
    within = float(np.square(change - means[member]).sum())
    ratio = variance_ratio(n, means, within, adjusted=False)
    assert ratio == pytest.approx(float(np.asarray(fit.cov_re)[0, 0]) / fit.scale, rel=1e-3)
    assert variance_ratio(n, means, within) > ratio
    pulled = fit.fe_params[0] + np.array([effect.iloc[0] for effect in fit.random_effects.values()])
    table = shrunk_changes(change[None], member, 200)
    assert table["change"].to_numpy() == pytest.approx(pulled, abs=0.05)
    assert table["counted"].to_numpy() == pytest.approx(means)


def test_small_members_are_pulled_most_and_nobody_is_nan() -> None:
    rng = np.random.default_rng(1)
    member = np.concatenate([np.repeat(np.arange(30), 30), np.full(4, 30), np.full(9, -1)])
    change = np.where(rng.random((3, len(member))) < 0.1, -1.0, 0.0)
    change[:, member == 30] = -1
    table = shrunk_changes(change, member, 33)
    assert table["counted"][30] == -1 and table["change"][30] > -0.8
    assert table.loc[31:, ["counted", "change", "low", "high"]].isna().all(axis=None) and table["n"][32] == 0
    assert (table["low"][:31] < table["change"][:31]).all()
    assert shrunk_changes(change, np.where(member < 2, member, -1), 33)["change"].isna().all(), "two members"


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("n_seeds", "own_loss"), [(3, 0.4), (6, 0.0)])
def test_intervals_cover_the_true_losses_and_the_worst_is_not_overstated(n_seeds: int, own_loss: float) -> None:
    """90 to 98 % of the writers' true losses lie within; of the writer that seems worst the pulled loss is about true,
    the counted one far too large."""
    hits, pulled, counted = [], [], []
    for seed in range(N_DRAWS):
        examples, before, after, loss = mixed_members(seed, 50, 40, n_seeds, own_loss=own_loss)
        label, member = examples["label"].to_numpy(), examples["writer"].to_numpy()
        table = shrunk_changes((after == label) - (before == label).astype(float), member, 50)
        hits.append(((table["low"] <= -loss) & (-loss <= table["high"])).mean())
        worst, seems = int(table["change"].argmin()), int(table["counted"].argmin())
        pulled.append(table["change"][worst] + loss[worst])
        counted.append(table["counted"][seems] + loss[seems])
    print(f"{n_seeds} seeds, {own_loss}: {np.mean(hits):.3f}, worst {np.mean(pulled):.4f}, {np.mean(counted):.4f}")
    assert 0.90 <= np.mean(hits) <= 0.98
    assert abs(np.mean(pulled)) < 0.4 * abs(np.mean(counted)) and np.mean(counted) < 0


def test_one_seed_and_members_alike() -> None:
    rng = np.random.default_rng(2)
    change = -(rng.random((1, 2000)) < 0.1).astype(float)
    table = shrunk_changes(change, np.repeat(np.arange(100), 20), 100)
    spread = pd.Series(table["change"]).std()
    assert spread < 0.5 * table["counted"].std() and np.isfinite(table).all(axis=None)
