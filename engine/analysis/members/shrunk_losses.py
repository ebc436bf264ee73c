"""Who surely loses, does the attribute matter, do members differ: what a mixed logit of members says, in rates."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import expit, ndtri, stdtr, stdtrit

from engine.analysis.members.lines import Floats
from engine.analysis.members.member_cells import MemberCells
from engine.analysis.members.mixed_logit import MixedLogit
from engine.analysis.members.seed_spread import joint_variance, seed_parts


@dataclass(frozen=True)
class LossFacts:
    """What all members have in common; NaN where it cannot be told."""

    n_members: int
    n_seeds: int
    n_surely_more: int
    """Members whose 95 % interval lies above the mean member's loss."""
    n_surely_less: int
    mean_loss: float
    mean_low: float
    mean_high: float
    """Holds for other seeds too."""
    spread: float
    """Standard deviation, in logits, of what pruning does to members alone."""
    p_differ: float
    """Of no such spread."""
    step: float = np.nan
    """One standard deviation of the attribute; NaN without one."""
    slope: float = np.nan
    slope_low: float = np.nan
    slope_high: float = np.nan
    """Loss more per step of the attribute; holds for other seeds too."""
    p_slope: float = np.nan


def shrunk_losses(fit: MixedLogit, confidence: float = 0.95) -> pd.DataFrame:
    """One row per member: its loss pulled to what is common, and how much more that is than the mean member's."""
    loss, gradient = _losses(fit, fit.cells)
    more, more_gradient = loss - loss.mean(), gradient - gradient.mean(axis=0)
    width = ndtri(0.5 + confidence / 2)
    table = {"member": fit.cells.names, "n": np.bincount(fit.cells.member, fit.cells.n).astype(int)}
    for name, value, slope in (("loss", loss, gradient), ("more", more, more_gradient)):
        half = width * np.sqrt(np.einsum("wk,kl,wl->w", slope, fit.covariance, slope))
        table |= {name: value, f"{name}_low": value - half, f"{name}_high": value + half}
    return pd.DataFrame(table)


def loss_facts(fit: MixedLogit, confidence: float = 0.95) -> LossFacts:
    """How many surely lose more than the mean member, whether they differ, and the slope on the attribute."""
    cells, table = fit.cells, shrunk_losses(fit, confidence)
    _, gradient = _losses(fit, cells)
    alone = np.ones((len(table), 1))
    mean = _with_seeds(float(table["loss"].mean()), gradient.mean(axis=0), fit, alone, confidence)
    slope = (np.nan,) * 4
    if np.isfinite(cells.attribute):
        slope = _slope(fit, confidence)
    return LossFacts(
        n_members=len(table),
        n_seeds=len(cells.rate_by_seed),
        n_surely_more=int((table["more_low"] > 0).sum()),
        n_surely_less=int((table["more_high"] < 0).sum()),
        mean_loss=mean[0],
        mean_low=mean[1],
        mean_high=mean[2],
        spread=float(np.sqrt(fit.spread[1, 1])),
        p_differ=fit.p_alike,
        step=cells.attribute,
        slope=slope[0],
        slope_low=slope[1],
        slope_high=slope[2],
        p_slope=slope[3],
    )


def _slope(fit: MixedLogit, confidence: float) -> tuple[float, float, float, float]:
    """Mean loss more for half a step up than for half a step down, every member counted alike."""
    ends = []
    for half in (0.5, -0.5):
        moved = fit.cells.fixed.copy()
        moved[:, -1] += half
        ends.append(_losses(fit, replace(fit.cells, fixed=moved)))
    value, gradient = (float((ends[0][0] - ends[1][0]).mean()), (ends[0][1] - ends[1][1]).mean(axis=0))
    return _with_seeds(value, gradient, fit, _member_columns(fit.cells), confidence)


def _member_columns(cells: MemberCells) -> Floats:
    """The columns of the cells, meaned over each member's examples."""
    firsts = np.flatnonzero(np.diff(cells.member, prepend=-1))
    sums: Floats = np.add.reduceat(cells.fixed * cells.n[:, None], firsts)
    return sums / np.bincount(cells.member, cells.n)[:, None]


def _with_seeds(
    value: float, gradient: Floats, fit: MixedLogit, columns: Floats, confidence: float
) -> tuple[float, float, float, float]:
    """The value with its interval and p: the fit's variance, and what seeds add to the last of the members' columns."""
    cells = fit.cells
    n, n_seeds = np.bincount(cells.member, cells.n), len(cells.rate_by_seed)
    lost = np.stack([np.bincount(cells.member, (r[:, 0] - r[:, 1]) * cells.n) / n for r in cells.rate_by_seed])
    members = float(gradient @ fit.covariance @ gradient)
    seen, noise = (float(part[-1, -1]) for part in seed_parts(columns, lost))
    variance, freedom = joint_variance(members, seen, noise, len(n), n_seeds)
    se = float(np.sqrt(variance))
    half = float(stdtrit(freedom, 0.5 + confidence / 2)) * se
    return value, value - half, value + half, float(2 * stdtr(freedom, -abs(value) / se))


def _losses(fit: MixedLogit, cells: MemberCells) -> tuple[Floats, Floats]:
    """Loss of each member over its own classes, and its gradient by all coefficients."""
    k, n_members = cells.fixed.shape[1], len(cells.names)
    own = fit.coefficients[2 * k :].reshape(-1, 2)[cells.member]
    before = cells.fixed @ fit.coefficients[:k] + own[:, 0]
    after = before + cells.fixed @ fit.coefficients[k : 2 * k] + own[:, 1]
    share = cells.n / np.bincount(cells.member, cells.n)[cells.member]
    was, now = expit(before), expit(after)
    loss: Floats = np.bincount(cells.member, share * (was - now)).astype(float)
    by_before, by_after = share * was * (1 - was), share * now * (1 - now)
    firsts = np.flatnonzero(np.diff(cells.member, prepend=-1))
    gradient = np.zeros((n_members, len(fit.coefficients)))
    gradient[:, :k] = np.add.reduceat((by_before - by_after)[:, None] * cells.fixed, firsts)
    gradient[:, k : 2 * k] = np.add.reduceat(-by_after[:, None] * cells.fixed, firsts)
    mine = 2 * k + 2 * np.arange(n_members)
    gradient[np.arange(n_members), mine] = np.add.reduceat(by_before - by_after, firsts)
    gradient[np.arange(n_members), mine + 1] = np.add.reduceat(-by_after, firsts)
    return loss, gradient
