"""What does each member surely lose: a mixed-effects logit of being right, members pulled to what all have in common.

logit P(right) = class + group + attribute + member, and after pruning all of these again: a member's second effect is
what pruning does to that member alone. The fit is penalised quasi-likelihood (Breslow and Clayton 1993) with REML
variances on rates by member and class; that one example is seen before and after, and by every seed, is in the
covariance of the rates.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import chdtrc, expit

from engine.analysis.members.lines import Floats
from engine.analysis.members.member_cells import MemberCells

MOST_STEPS, CLOSE = 50, 1e-6
SHORT_OF_ONE = 1e-4
"""Fitted rates stay this far from 0 and 1, where a logit has no end."""


@dataclass(frozen=True, eq=False)
class MixedLogit:
    """Fixed coefficients before and what pruning adds, then two effects per member, with their covariance."""

    cells: MemberCells
    coefficients: Floats
    """Columns of `cells.fixed` before, the same for what pruning adds, then each member's (before, added)."""
    covariance: Floats
    spread: Floats
    """Covariance of the members' two effects: (2, 2)."""
    dispersion: Floats
    """Covariance of an example's rates over that of one coin toss: (2, 2)."""
    p_alike: float
    """P of a test that pruning does the same to every member, but for class, group and attribute."""


def fit_mixed_logit(cells: MemberCells) -> MixedLogit:
    """The fit by repeated linear mixed models of the working response."""
    model, root, dispersion = _fitted(cells, np.array([0.3, 0.0, 0.3]))
    alike, own_root, _ = _fitted(cells, np.array([0.3]))
    spread = _spread(root)
    p_alike = alike_p(alike, _spread(own_root))
    return MixedLogit(cells, model.solve(spread), model.covariance(spread), spread, dispersion, p_alike)


def _fitted(cells: MemberCells, root: Floats) -> tuple["_Linear", Floats, Floats]:
    """The last working model, the root of the members' covariance as long as the one to start from, the dispersion."""
    n_fixed, n_members = cells.fixed.shape[1], len(cells.names)
    rate = np.clip((cells.rate * cells.n[:, None] + 0.5) / (cells.n[:, None] + 1), SHORT_OF_ONE, 1 - SHORT_OF_ONE)
    logit, dispersion, step = np.log(rate / (1 - rate)), np.eye(2), 0.2
    for _ in range(MOST_STEPS):
        rate = np.clip(expit(logit), SHORT_OF_ONE, 1 - SHORT_OF_ONE)
        noise = rate * (1 - rate)
        working = logit + (cells.rate - rate) / noise
        model = _Linear(cells, working, noise, dispersion)
        root, before = model.best_root(root, step), root
        ahead = _logits(cells, model.solve(_spread(root)))
        dispersion = _dispersion(cells, ahead, 2 * n_fixed + n_members)
        moved, logit = np.abs(expit(ahead) - expit(logit)).max(), ahead
        step = float(np.clip(np.abs(root - before).max(), 0.005, 0.2))
        if moved < CLOSE:
            break
    return model, root, dispersion


class _Linear:
    """The linear mixed model of the working response; all sums over a member's cells are made once."""

    def __init__(self, cells: MemberCells, working: Floats, noise: Floats, dispersion: Floats) -> None:
        root = np.sqrt(noise * cells.n[:, None])
        weight = root[:, :, None] * np.linalg.inv(dispersion) * root[:, None, :]
        zero = np.zeros_like(cells.fixed)
        fixed = np.stack(
            [np.column_stack([cells.fixed, zero]), np.column_stack([cells.fixed, cells.fixed])], axis=1
        )  # (cells, 2, q)
        own = np.array([[1.0, 0.0], [1.0, 1.0]])
        self.n_members = len(cells.names)
        firsts = np.flatnonzero(np.diff(cells.member, prepend=-1))
        weighted, seen = weight @ fixed, (weight @ working[:, :, None])[:, :, 0]
        self.own_own = np.add.reduceat(own.T @ weight @ own, firsts)
        self.own_fixed = np.add.reduceat(own.T @ weighted, firsts)
        self.own_seen = np.add.reduceat(seen @ own, firsts)
        self.fixed_fixed = np.einsum("caq,car->qr", fixed, weighted)
        self.fixed_seen = np.einsum("caq,ca->q", fixed, seen)
        self.seen_seen = float((working * seen).sum())

    def deviance(self, root: Floats) -> float:
        """-2 times the restricted log likelihood, but for a constant, at a root of the members' covariance."""
        spread = _spread(root)
        shrink = self._shrink(spread)
        information, score = self._information(shrink)
        rest = self.seen_seen - np.einsum("wa,wab,wb->", self.own_seen, shrink, self.own_seen)
        sign, size = np.linalg.slogdet(np.eye(2) + self.own_own @ spread)
        fitted = score @ np.linalg.lstsq(information, score, rcond=None)[0]
        return float(size.sum() + np.linalg.slogdet(information)[1] + rest - fitted)

    def best_root(self, start: Floats, step: float) -> Floats:
        """The root at which the restricted likelihood is largest; the search begins with steps of this size."""
        steps = np.vstack([start, start + step * np.eye(len(start))])
        options = {"xatol": 1e-4, "fatol": 1e-5, "initial_simplex": steps}
        best: Floats = minimize(self.deviance, start, method="Nelder-Mead", options=options).x
        return best

    def solve(self, spread: Floats) -> Floats:
        """Coefficients, then the members' effects."""
        shrink = self._shrink(spread)
        information, score = self._information(shrink)
        fixed = np.linalg.solve(information, score)
        own = np.einsum("wab,wb->wa", shrink, self.own_seen - self.own_fixed @ fixed)
        return np.concatenate([fixed, own.ravel()])

    def covariance(self, spread: Floats) -> Floats:
        """Of the errors of all that `solve` gives (Henderson)."""
        shrink = self._shrink(spread)
        fixed = np.linalg.inv(self._information(shrink)[0])
        pulled = (shrink @ self.own_fixed).reshape(2 * self.n_members, -1)
        both = -pulled @ fixed
        own = pulled @ fixed @ pulled.T
        for number, block in enumerate(shrink):
            own[2 * number : 2 * number + 2, 2 * number : 2 * number + 2] += block
        return np.block([[fixed, both.T], [both, own]])

    def _shrink(self, spread: Floats) -> Floats:
        """Covariance of each member's effects given the data and the coefficients."""
        each: Floats = spread @ np.linalg.inv(np.eye(2) + self.own_own @ spread)
        return each

    def scores(self, spread: Floats) -> tuple[Floats, Floats]:
        """How each member's effects pull at the fit, (2 n_members), and the covariance of that: Z' P y and Z' P Z."""
        shrink = self._shrink(spread)
        information, score = self._information(shrink)
        left = np.eye(2) - self.own_own @ shrink
        pulled = (left @ self.own_fixed).reshape(2 * self.n_members, -1)
        pull = np.einsum("wab,wb->wa", left, self.own_seen).ravel() - pulled @ np.linalg.solve(information, score)
        covariance = -pulled @ np.linalg.solve(information, pulled.T)
        for number, block in enumerate(left @ self.own_own):
            covariance[2 * number : 2 * number + 2, 2 * number : 2 * number + 2] += block
        return pull, covariance

    def _information(self, shrink: Floats) -> tuple[Floats, Floats]:
        pulled = shrink @ self.own_fixed
        information = self.fixed_fixed - np.einsum("waq,war->qr", self.own_fixed, pulled)
        return information, self.fixed_seen - np.einsum("waq,wa->q", pulled, self.own_seen)


def alike_p(model: _Linear, spread: Floats) -> float:
    """P of no effect of members on what pruning does, from the fit without: a score test of a variance of 0.

    Under no effect the squares of the members' pulls are a sum of chi-squares, taken as one that is scaled to the same
    mean and variance; one-sided, so that the edge of the parameters plays no part (Zhang and Lin 2003). That the
    variance of the members before pruning is fitted makes theirs smaller.
    """
    pull, covariance = model.scores(spread)
    added, own, both = covariance[1::2, 1::2], covariance[::2, ::2], covariance[1::2, ::2]
    found, mean = float(pull[1::2] @ pull[1::2]), float(np.trace(added))
    variance = 2 * (np.square(added).sum() - np.square(both).sum() ** 2 / np.square(own).sum())
    if not (mean > 0 and variance > 0):
        return float("nan")
    return float(chdtrc(2 * mean**2 / variance, found * 2 * mean / variance))


def _spread(root: Floats) -> Floats:
    """The covariance with this lower root (a, b, c); with one number, only the first effect varies."""
    a, b, c = (*root, 0.0, 0.0)[:3]
    return np.array([[a * a, a * b], [a * b, b * b + c * c]])


def _logits(cells: MemberCells, effects: Floats) -> Floats:
    """Logits of the cells before and after: (cells, 2)."""
    k = cells.fixed.shape[1]
    own = effects[2 * k :].reshape(-1, 2)[cells.member]
    first = cells.fixed @ effects[:k] + own[:, 0]
    return np.column_stack([first, first + cells.fixed @ effects[k : 2 * k] + own[:, 1]])


def _dispersion(cells: MemberCells, logit: Floats, n_used: int) -> Floats:
    """Covariance of the examples' standardised residuals about the fit."""
    rate = np.clip(expit(logit), SHORT_OF_ONE, 1 - SHORT_OF_ONE)
    product = rate[:, :, None] * cells.rate[:, None, :]
    about = cells.moment - product - product.transpose(0, 2, 1) + rate[:, :, None] * rate[:, None, :]
    root = np.sqrt(rate * (1 - rate))
    standard = about / (root[:, :, None] * root[:, None, :])
    found: Floats = np.einsum("c,cab->ab", cells.n, standard) / (cells.n.sum() - n_used / 2)
    return found + 1e-6 * np.eye(2)
