"""What do the classes themselves say: every run repeats them, so they, not the rows, are the evidence of an effect.

Wild cluster bootstrap by class (Cameron, Gelbach and Miller 2008; Webb 2023), effects without each class, and how many
classes an effect rests on. All of it comes from sums over each class of the scores times the inverse triangle.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from engine.analysis.regression.block_design import in_one_thread
from engine.analysis.regression.effects import Change
from engine.analysis.regression.least_squares import Fit
from engine.analysis.regression.sandwich import cluster_sums, clustered_factor

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

N_DRAWS = 999
FEW_FOR_SIGNS = 12
"""Classes below which the signs alone give too few different draws, and Webb's six points are drawn."""

WEBB = np.sqrt([0.5, 1.0, 1.5])
CONFIDENCE = 0.95
FARTHEST = 2.0**10
"""Standard errors from the estimate up to which the end of an interval is looked for; beyond it there is none."""

ENOUGH_CLASSES = 30
"""Classes that must differ in a fact for its effect to be identified: below, no kind of errors is reliable."""

SINGULAR = 1e-9
LEFT = ("key", "dataset", "class", "estimate", "change")


@dataclass(frozen=True, eq=False)
class ClassScores:
    """Sums over each class, in the coordinates in which X'X is the identity."""

    root: Floats
    residual: Floats
    """Of row times residual, (n_classes, n_columns)."""
    factor: float
    """Small sample correction of errors clustered by class."""


def class_scores(fit: Fit) -> ClassScores:
    """The sums of a linear fit; it must have two classes or more."""
    clusters = fit.clusters["class"]
    sums = cluster_sums(fit.design, fit.root, fit.residuals, clusters)
    return ClassScores(fit.root, sums, clustered_factor(fit.design, int(clusters.max()) + 1))


def wild_rows(fit: Fit, changes: Sequence[Change], n_draws: int = N_DRAWS, seed: int = 0) -> pd.DataFrame:
    """Effects with the bootstrap's p and inverted 95 % interval, as rows of `effects.effects` with errors "wild".

    Empty for the logit and with fewer than two classes. An end that is not bounded is infinite; se is not computed.
    """
    rows = []
    if fit.link == "linear" and fit.n_clusters("class") > 1:
        scores = class_scores(fit)
        draws = wild_weights(len(scores.residual), n_draws, seed)
        for change in changes:
            test = WildTest(fit, scores, change, draws)
            rows.append(
                (change.key, change.begin, change.end, "wild", change.estimate, np.nan, *test.ends(), test.p(0.0))
            )
    return pd.DataFrame(rows, columns=["key", "begin", "end", "errors", "estimate", "se", "low", "high", "p"])


def wild_weights(n_clusters: int, n_draws: int, seed: int) -> Floats:
    """Random weights of mean 0 and variance 1, (n_clusters, n_draws): signs, or Webb's points where they are few."""
    random = np.random.default_rng(seed)
    signs = random.choice([-1.0, 1.0], (n_clusters, n_draws))
    return signs if n_clusters >= FEW_FOR_SIGNS else signs * random.choice(WEBB, (n_clusters, n_draws))


class WildTest:
    """The restricted wild cluster bootstrap of one effect: residuals under the null times one weight per class.

    With a = X inv(X'X) g the effect's weight of each row and d = g' inv(X'X) g, residuals under the null that it
    is r are those of the fit plus a (estimate - r) / d; so all that is drawn is linear in r and prepared once.
    """

    def __init__(self, fit: Fit, scores: ClassScores, change: Change, draws: Floats) -> None:
        along = scores.root.T @ change.gradient
        weights = fit.design.times(scores.root @ along)
        sums = cluster_sums(fit.design, fit.root, weights, fit.clusters["class"])
        own, moved = scores.residual @ along, sums @ along
        self.estimate = change.estimate
        self.length = float(along @ along)
        self.factor = scores.factor
        self.error = float(np.sqrt(scores.factor * np.square(own).sum()))
        self.top = own @ draws, moved @ draws
        self.parts = (
            own[:, None] * draws - sums @ (scores.residual.T @ draws),
            moved[:, None] * draws - sums @ (sums.T @ draws),
        )

    def p(self, null: float) -> float:
        """Two-sided p of the null that the effect is this; NaN where the classes leave no error."""
        if not self.error > 0:
            return np.nan
        shift = (self.estimate - null) / self.length
        top = self.top[0] + shift * self.top[1]
        below = np.sqrt(self.factor * np.square(self.parts[0] + shift * self.parts[1]).sum(axis=0))
        with np.errstate(divide="ignore", invalid="ignore"):
            drawn = np.nan_to_num(np.abs(top) / below, nan=0.0)
        seen = abs(self.estimate - null) / self.error
        return float((1 + (drawn >= seen * (1 - 1e-9)).sum()) / (1 + len(drawn)))

    def ends(self) -> tuple[float, float]:
        """The nulls that are not rejected at 5 %, from the lowest to the highest; infinite where there is no end."""
        if not self.error > 0:
            return np.nan, np.nan
        return self._end(-1.0), self._end(1.0)

    def _end(self, direction: float) -> float:
        inside, outside = 0.0, 1.0
        while self.p(self.estimate + direction * outside * self.error) > 1 - CONFIDENCE:
            inside, outside = outside, 2 * outside
            if outside > FARTHEST:
                return direction * np.inf
        for _ in range(30):
            middle = (inside + outside) / 2
            kept = self.p(self.estimate + direction * middle * self.error) > 1 - CONFIDENCE
            inside, outside = (middle, outside) if kept else (inside, middle)
        return self.estimate + direction * outside * self.error


def without_each_class(fit: Fit, changes: Sequence[Change], table: pd.DataFrame) -> pd.DataFrame:
    """Each effect without the rows of each class: key, dataset, class, estimate, change; the largest change first.

    The effect is of the same step over the same rows; NaN where it cannot be told without the class. Empty for
    the logit and with fewer than three classes.
    """
    n_classes = fit.n_clusters("class")
    if fit.link != "linear" or n_classes < 3 or not changes:
        return pd.DataFrame(columns=list(LEFT))
    clusters, scores = fit.clusters["class"], class_scores(fit)
    moves = _moves(fit, scores.residual, np.stack([fit.root.T @ change.gradient for change in changes], axis=1))
    first = np.unique(clusters, return_index=True)[1]
    named = [(str(table["dataset"].iloc[row]), int(table["class"].iloc[row])) for row in first]
    rows = [
        (change.key, *named[code], change.estimate - moves[code, place], -moves[code, place])
        for place, change in enumerate(changes)
        for code in range(n_classes)
    ]
    found = pd.DataFrame(rows, columns=list(LEFT))
    return found.sort_values("change", key=np.abs, ascending=False, kind="stable", ignore_index=True)


@in_one_thread
def _moves(fit: Fit, residual: Floats, along: Floats) -> Floats:
    """How far each effect falls when each class goes, (n_classes, n_effects)."""
    clusters, n_columns = fit.clusters["class"], fit.root.shape[1]
    grams = np.zeros((len(residual), n_columns, n_columns))
    for (rows, _), on in zip(fit.design.blocks(), fit.design.on @ fit.root, strict=True):
        for code in np.unique(clusters[rows]):
            part = fit.design.numeric[rows][clusters[rows] == code]
            grams[code] += on.T @ (part.T @ part) @ on
    moves = np.empty((len(residual), along.shape[1]))
    for code, gram in enumerate(grams):
        kept, axes = np.linalg.eigh(np.eye(n_columns) - gram)
        lost = kept < SINGULAR
        inverse = np.divide(1.0, kept, out=np.zeros_like(kept), where=~lost)
        moves[code] = (along.T @ axes * inverse) @ (axes.T @ residual[code])
        moves[code, np.square(axes[:, lost].T @ along).sum(axis=0) > SINGULAR * np.square(along).sum(axis=0)] = np.nan
    return moves


def informing_classes(table: pd.DataFrame, fact: str) -> int:
    """How many classes say anything about a fact: in each data set those that do not share the value of the majority.

    Where all classes of a data set are alike, none does; where all differ, all do.
    """
    columns = [name for name in ("dataset", "split") if name in table]
    classes = table.drop_duplicates([*columns, "class"])
    n = 0
    for _, rows in classes.groupby(columns, observed=True):
        counts = rows[fact].round(9).value_counts()
        n += len(rows) - (int(counts.iloc[0]) if counts.iloc[0] > len(rows) / 2 else 0)
    return n
