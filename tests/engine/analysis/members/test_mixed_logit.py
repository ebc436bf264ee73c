"""Mixed logits of made-up writers: plain loops, coverage, tests where there is no effect, statsmodels as referee."""

import os
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from statsmodels.genmod.bayes_mixed_glm import BinomialBayesMixedGLM

from engine.analysis.members import mixed_logit
from engine.analysis.members.member_cells import member_cells
from engine.analysis.members.mixed_logit import MixedLogit, fit_mixed_logit
from engine.analysis.members.shrunk_losses import loss_facts, shrunk_losses
from tests.support.mixed_members import mixed_members

FULL_RUN = os.environ.get("PRUNESCOPE_FULL") == "1"
N_DRAWS = 1000 if FULL_RUN else 10
SMALL = {"n_writers": 40, "n_digits": 60, "n_seeds": 4}
"""What is drawn often: a fit takes a tenth of a second, and has 40 writers whose intervals are counted."""


@cache
def fitted(seed: int) -> tuple[MixedLogit, np.ndarray]:
    return drawn(seed, 0.4, 0.2)


def drawn(seed: int, own_loss: float, slope: float, **sizes: int) -> tuple[MixedLogit, np.ndarray]:
    examples, before, after, loss = mixed_members(seed, own_loss=own_loss, slope=slope, **sizes)
    return fit_mixed_logit(member_cells(examples, before, after, "writer", "abs_tilt", "series")), loss


def test_cells_are_those_of_a_plain_loop() -> None:
    examples, before, after, _ = mixed_members(0, n_writers=7, n_digits=30, n_seeds=2)
    cells = member_cells(examples.sample(frac=1, random_state=0).sort_index(), before, after, "writer", None, "series")
    number = 0
    for writer, mine in examples.groupby("writer"):
        for label, rows in mine.groupby("label"):
            right = np.stack([(moment[:, rows.index] == label) for moment in (before, after)], axis=-1)
            assert cells.member[number] == writer and cells.n[number] == len(rows)
            assert cells.rate_by_seed[:, number] == pytest.approx(right.mean(axis=1))
            mean = right.mean(axis=0)
            assert cells.moment[number] == pytest.approx(mean.T @ mean / len(rows))
            assert cells.fixed[number, :5].argmax() == label
            number += 1
    assert number == len(cells.n) and cells.rate == pytest.approx(cells.rate_by_seed.mean(axis=0))


@pytest.mark.timeout(3600)
def test_intervals_of_shrunk_losses_cover_the_truth() -> None:
    hits = {"loss": [], "more": []}
    for seed in range(N_DRAWS):
        fit, loss = drawn(seed, 0.4, 0.2, **SMALL)
        table = shrunk_losses(fit)
        for name, truth in (("loss", loss), ("more", loss - loss.mean())):
            hits[name].append(np.mean((table[f"{name}_low"] <= truth) & (truth <= table[f"{name}_high"])))
    print({name: round(float(np.mean(shares)), 4) for name, shares in hits.items()})
    for shares in hits.values():
        assert 0.90 <= np.mean(shares) <= 0.98


def test_shrunk_losses_are_nearer_the_truth_than_counts() -> None:
    fit, loss = fitted(0)
    counted = np.bincount(fit.cells.member, (fit.cells.rate[:, 0] - fit.cells.rate[:, 1]) * fit.cells.n) / 80
    assert np.square(shrunk_losses(fit)["loss"] - loss).sum() < np.square(counted - loss).sum()


def test_planted_effects_are_found() -> None:
    facts = loss_facts(fitted(0)[0])
    assert facts.p_differ < 1e-3 and facts.p_slope < 0.05 and facts.slope_low > 0
    assert 0 < facts.n_surely_more < facts.n_members / 2 and facts.mean_low < facts.mean_loss < facts.mean_high
    assert 0.2 < facts.spread < 0.6 and facts.n_seeds == 6


@pytest.mark.timeout(3600)
def test_without_effects_tests_reject_as_often_as_they_say() -> None:
    facts = [loss_facts(drawn(1000 + seed, 0.0, 0.0, **SMALL)[0]) for seed in range(N_DRAWS)]
    slope, differ = (np.mean([getattr(fact, name) < 0.05 for fact in facts]) for name in ("p_slope", "p_differ"))
    print(f"slope {slope:.3f}, differ {differ:.3f}")
    low, high = (0.03, 0.07) if FULL_RUN else (0.0, 0.3)
    assert low <= slope <= high and low <= differ <= high


def test_pulls_of_members_are_those_of_plain_matrices() -> None:
    """y = X b + Z u + e with every matrix written out: Z' P y, its covariance, and p as shares of simulated draws."""
    examples, before, after, _ = mixed_members(1, n_writers=12, n_digits=40, n_seeds=3)
    cells = member_cells(examples, before, after, "writer", None, "series")
    rng, n = np.random.default_rng(0), len(cells.n)
    noise, dispersion = rng.uniform(0.05, 0.25, (n, 2)), np.array([[0.7, 0.3], [0.3, 0.9]])
    spread = np.diag([0.2, 0.0])
    root = 1 / np.sqrt(noise * cells.n[:, None])
    error, own = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, 24))
    fixed = np.zeros((2 * n, 2 * cells.fixed.shape[1]))
    for place in range(n):
        rows = slice(2 * place, 2 * place + 2)
        error[rows, rows] = np.outer(root[place], root[place]) * dispersion
        own[rows, 2 * cells.member[place] : 2 * cells.member[place] + 2] = [[1, 0], [1, 1]]
        fixed[rows] = np.kron([[1, 0], [1, 1]], cells.fixed[place])
    covariance = error + own @ np.kron(np.eye(12), spread) @ own.T
    working = rng.multivariate_normal(np.zeros(2 * n), covariance).reshape(n, 2)
    inverse = np.linalg.inv(covariance)
    project = inverse - inverse @ fixed @ np.linalg.solve(fixed.T @ inverse @ fixed, fixed.T @ inverse)
    model = mixed_logit._Linear(cells, working, noise, dispersion)
    pull, covariance = model.scores(spread)
    assert pull == pytest.approx(own.T @ project @ working.ravel())
    assert covariance == pytest.approx(own.T @ project @ own, abs=1e-8)
    added = covariance[1::2, 1::2]
    draws = rng.multivariate_normal(np.zeros(12), added, 40_000, method="eigh")
    share = np.mean(np.square(draws).sum(axis=1) >= pull[1::2] @ pull[1::2])
    assert 0.02 < share < 0.98
    assert mixed_logit.alike_p(model, spread) == pytest.approx(share, abs=0.02)


def test_variances_and_coefficients_are_near_those_of_statsmodels() -> None:
    """One digit is one coin toss here, so that statsmodels' variational fit of single answers has the same model."""
    rng = np.random.default_rng(0)
    writer, label = np.repeat(np.arange(40), 80), rng.integers(0, 2, 3200)
    first = 1.5 + 0.5 * label + rng.normal(0, 0.5, 40)[writer]
    right = [rng.random(3200) < expit(first), rng.random(3200) < expit(first - 1 + rng.normal(0, 0.6, 40)[writer])]
    before, after = ((label + ~moment) % 2 for moment in right)
    examples = pd.DataFrame({"label": label, "writer": writer})
    fit = fit_mixed_logit(member_cells(examples, before, after, "writer"))
    rows = pd.DataFrame({"right": np.concatenate(right).astype(int), "pruned": np.repeat([0, 1], 3200)})
    rows["one"], rows["writer"] = np.tile(label, 2), np.tile(writer, 2)
    parts = {"own": "0 + C(writer)", "added": "0 + C(writer):pruned"}
    referee = BinomialBayesMixedGLM.from_formula("right ~ one * pruned", parts, rows).fit_vb()
    zero, one, pruned, also = fit.coefficients[[0, 1, 2, 3]]
    assert (zero, pruned) == pytest.approx((referee.fe_mean[0], referee.fe_mean[2]), abs=0.12)
    assert (one - zero, also - pruned) == pytest.approx((referee.fe_mean[1], referee.fe_mean[3]), abs=0.12)
    assert np.sqrt(np.diag(fit.spread)) == pytest.approx(np.exp(referee.vcp_mean), abs=0.15)
    assert np.diag(fit.dispersion) == pytest.approx([1, 1], abs=0.05)
