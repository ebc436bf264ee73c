"""Does a candidate keep to the rules? Surely, surely not, or it cannot be told with so few examples or seeds.

A rule fails where its interval lies wholly beyond the limit, and passes where it lies wholly within limit + effect. The
intervals of all rules hold together, and those of a rule's groups do; digits of one writer are one cluster.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from engine.analysis.gate.rules import AT_MOST, FAIL, PASS, UNSURE, Bounds, Finding, Outcome, Policy, Rule
from engine.analysis.groupings import Grouping, grouping_of
from engine.analysis.uncertainty.clusters import Estimates, cluster_codes, clustered_rates, clustered_shares, layout
from engine.analysis.uncertainty.simultaneous import confidence_of_each

Floats = NDArray[np.float64]
NO_BASELINE = "there is no baseline to compare with"
NO_MEASURE = "it was not measured"


@dataclass(frozen=True, eq=False)
class Candidate:
    """Answers of a candidate and of what it is compared with, to the same examples; rows are seeds."""

    examples: pd.DataFrame
    answers: NDArray[np.generic]
    baseline: NDArray[np.generic] | None
    measures: Mapping[str, float]
    """What was measured of the model itself, such as latency_ms."""
    class_names: Sequence[str] | None = None

    @property
    def right(self) -> Floats:
        """Where the candidate answers rightly, seeds by examples."""
        return np.asarray(self.answers == self.examples["label"].to_numpy(), float)

    @property
    def right_before(self) -> Floats | None:
        """Where the baseline does: seed by seed if it has as many, else their mean for every seed."""
        if self.baseline is None:
            return None
        before = np.asarray(self.baseline == self.examples["label"].to_numpy(), float)
        paired = len(before) == len(self.answers)
        return before if paired else np.repeat(before.mean(axis=0, keepdims=True), len(self.answers), axis=0)


def judge(policy: Policy, candidate: Candidate) -> list[Finding]:
    """What became of each rule, in the policy's order."""
    n_shares = sum(rule.row.is_share for rule in policy.rules)
    each = float(confidence_of_each(max(n_shares, 1), policy.confidence))
    return [_judged(rule, candidate, each) for rule in policy.rules]


def overall(findings: Sequence[Finding]) -> Outcome:
    """A failure decides, then what cannot be told."""
    outcomes = {finding.outcome for finding in findings}
    return FAIL if FAIL in outcomes else UNSURE if UNSURE in outcomes else PASS


def _judged(rule: Rule, candidate: Candidate, confidence: float) -> Finding:
    if not rule.row.is_share:
        return _measured(rule, candidate.measures.get(rule.measure, np.nan))
    if rule.row.needs_baseline and candidate.baseline is None:
        return Finding(rule, UNSURE, reason=NO_BASELINE)
    if rule.row.needs_groups:
        grouping = grouping_of(candidate.examples, rule.between, rule.least, candidate.class_names)
        n_least = 2 if rule.measure == "gap" else 1
        if len(grouping.groups) < n_least:
            reason = f"{grouping.name} has {len(grouping.groups)} groups of at least {rule.least} examples"
            return Finding(rule, UNSURE, reason=reason)
    else:
        whole = np.zeros(len(candidate.examples), np.intp)
        grouping = Grouping("", ("",), whole, np.array([len(whole)]), pd.DataFrame())
    return _decided(rule, _bounds(rule, candidate, grouping, confidence), len(candidate.answers))


def _measured(rule: Rule, value: float) -> Finding:
    """A number without an interval; milliseconds and bytes are what they are."""
    if math.isnan(value):
        return Finding(rule, UNSURE, reason=NO_MEASURE)
    return Finding(rule, PASS if value <= rule.limit else FAIL, Bounds(value, value, value))


def _bounds(rule: Rule, candidate: Candidate, grouping: Grouping, confidence: float) -> Bounds:
    where = layout(grouping.code, cluster_codes(candidate.examples), len(grouping.groups))
    estimates = clustered_rates(_values(rule, candidate), where)
    if rule.measure == "gap":
        return _gap(estimates, grouping, confidence)
    each = float(confidence_of_each(len(grouping.groups), confidence))
    is_loss = rule.row.side == AT_MOST
    low, high = _differences(estimates, grouping, each) if is_loss else _shares(estimates, grouping, each)
    # Whoever decides: the group that is worst, by the end of its interval that lies nearer to the limit.
    worst = int(np.nanargmax(low)) if is_loss else int(np.nanargmin(high))
    ends = (low[worst], np.nanmax(high)) if is_loss else (np.nanmin(low), high[worst])
    value = np.nanmax(estimates.value) if is_loss else np.nanmin(estimates.value)
    n, name = int(grouping.n[worst]), grouping.groups[worst]
    return Bounds(float(value), float(ends[0]), float(ends[1]), n, name, _seeds_share(rule, candidate))


def _values(rule: Rule, candidate: Candidate) -> Floats:
    """What each seed and example adds: right or wrong, the loss since the baseline, or whether answers are equal."""
    before = candidate.right_before
    if rule.measure == "same_answers":
        assert candidate.baseline is not None
        return np.asarray([(row == candidate.baseline).mean(axis=0) for row in candidate.answers], float)
    if not rule.row.needs_baseline:
        return candidate.right
    assert before is not None
    return before - candidate.right


def _shares(estimates: Estimates, grouping: Grouping, confidence: float) -> tuple[Floats, Floats]:
    return clustered_shares(estimates, grouping.n.astype(float), confidence)


def _differences(estimates: Estimates, grouping: Grouping, confidence: float) -> tuple[Floats, Floats]:
    """Intervals of paired differences that do not vanish where no answer changed (Agresti and Min 2005)."""
    n = grouping.n.astype(float)
    value = estimates.value * n / (n + 2)
    variance = np.nan_to_num(estimates.variance) * (n / (n + 2)) ** 2 + 1 / (n + 2) ** 2
    freedom = np.where(np.isnan(estimates.freedom), estimates.n_clusters - 1, estimates.freedom)
    half = stdtrit(np.maximum(freedom, 1), 0.5 + confidence / 2) * np.sqrt(variance)
    return np.maximum(value - half, -1), np.minimum(value + half, 1)


def _gap(estimates: Estimates, grouping: Grouping, confidence: float) -> Bounds:
    """Best minus worst group: the ends hold for every pair at once, whichever pair it is."""
    n_groups = len(grouping.groups)
    each = float(confidence_of_each(n_groups * (n_groups - 1) / 2, confidence))
    low, high = _shares(estimates, grouping, each)
    value, below, above = estimates.value, estimates.value - low, high - estimates.value
    difference = value[:, None] - value[None, :]
    # Newcombe's square-and-add: the ends of a difference from the ends of both shares.
    lows = difference - np.hypot(below[:, None], above[None, :])
    highs = difference + np.hypot(above[:, None], below[None, :])
    np.fill_diagonal(lows, 0)
    best, worst = divmod(int(np.nanargmax(difference)), n_groups)
    n = int(min(grouping.n[best], grouping.n[worst]))
    name = f"{grouping.groups[worst]} below {grouping.groups[best]}"
    return Bounds(float(difference[best, worst]), float(np.nanmax(lows)), float(np.nanmax(highs)), n, name)


def _seeds_share(rule: Rule, candidate: Candidate) -> float:
    """Which part of the variance of the whole comes from seeds; 0 with one seed, of which alone it speaks."""
    values = _values(rule, candidate)
    if len(values) < 2:
        return 0.0
    of_seeds = values.mean(axis=1).var(ddof=1) / len(values)
    of_examples = values.mean(axis=0).var(ddof=1) / values.shape[1]
    return float(of_seeds / (of_seeds + of_examples)) if of_seeds + of_examples > 0 else 0.0


def _decided(rule: Rule, bounds: Bounds, n_seeds: int) -> Finding:
    """Pass, fail, or how much more would be needed; at-least rules are at-most rules of the negative."""
    sign = 1 if rule.row.side == AT_MOST else -1
    near, far = (bounds.low, bounds.high) if sign > 0 else (-bounds.high, -bounds.low)
    limit, value = sign * rule.limit, sign * bounds.value
    if math.isnan(near) or math.isnan(far):
        return Finding(rule, UNSURE, bounds, reason="too few examples or members to know how far it could be off")
    if near > limit:
        return Finding(rule, FAIL, bounds)
    if far <= limit + rule.effect:
        return Finding(rule, PASS, bounds)
    by_seeds = bounds.seeds_share > 0.5
    factor = _factor(value - near, far - value, value - limit, limit + rule.effect - value)
    n_now = n_seeds if by_seeds else bounds.n
    needed = math.ceil(n_now * factor) if math.isfinite(factor) else 0
    return Finding(rule, UNSURE, bounds, n_needed=needed, unit_needed="seeds" if by_seeds else "examples")


def _factor(down: float, up: float, beyond: float, within: float) -> float:
    """How many times the examples would shrink the interval until it decides, if the value stayed where it is."""
    ways = [(half / room) ** 2 for half, room in ((down, beyond), (up, within)) if room > 0]
    return max(min(ways), 1.0) if ways else math.inf
