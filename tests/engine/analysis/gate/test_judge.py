"""A gate's judgement: known answers, simulated truth, and how often noise alone fails it."""

import math
import os

import numpy as np
import pandas as pd
import pytest

from engine.analysis.gate.judge import NO_BASELINE, NO_MEASURE, Candidate, judge, overall
from engine.analysis.gate.rules import FAIL, PASS, UNSURE, Policy, Rule

FULL = os.environ.get("PRUNESCOPE_FULL") == "1"


def candidate(
    right: dict[str, tuple[int, int]], before: dict[str, tuple[int, int]] | None = None, n_seeds: int = 1, **measures
) -> Candidate:
    """Regions with (right, n) answers, and the same of the baseline; the baseline's right ones come first too."""
    sizes = [n for _, n in right.values()]
    examples = pd.DataFrame({"label": np.zeros(sum(sizes), int), "region": np.repeat(list(right), sizes)})

    def answers(counts: dict[str, tuple[int, int]]) -> np.ndarray:
        rows = np.concatenate([np.arange(n) >= k for k, n in counts.values()]).astype(int)
        return np.tile(rows, (n_seeds, 1))

    return Candidate(examples, answers(right), None if before is None else answers(before), measures)


GOOD = {"urban": (970, 1000), "rural": (965, 1000)}
DENSE = {"urban": (975, 1000), "rural": (970, 1000)}
UNFAIR = {"urban": (850, 1000), "rural": (650, 1000)}
FEW = {"urban": (29, 30), "rural": (27, 30)}
REGION = ("region",)

CASES = [
    (Rule("accuracy", 0.9), GOOD, None, PASS),
    (Rule("accuracy", 0.99), GOOD, None, FAIL),
    (Rule("accuracy", 0.97, effect=0.02), GOOD, None, PASS),  # surely no more than the effect below
    (Rule("accuracy", 0.97, effect=0.0), GOOD, None, UNSURE),
    (Rule("accuracy", 0.9), FEW, None, UNSURE),
    (Rule("accuracy_loss", 0.02), GOOD, DENSE, PASS),
    (Rule("accuracy_loss", 0.02), UNFAIR, DENSE, FAIL),
    (Rule("accuracy_loss", 0.0, effect=0.02), DENSE, DENSE, PASS),
    (Rule("accuracy_loss", 0.02), GOOD, None, UNSURE),
    (Rule("group_accuracy", 0.9, REGION), GOOD, None, PASS),
    (Rule("group_accuracy", 0.8, REGION), UNFAIR, None, FAIL),
    (Rule("group_accuracy", 0.9, REGION), FEW, None, UNSURE),
    (Rule("group_loss", 0.05, REGION), GOOD, DENSE, PASS),
    (Rule("group_loss", 0.05, REGION), UNFAIR, DENSE, FAIL),
    (Rule("group_loss", 0.2, REGION), UNFAIR, DENSE, FAIL),
    (Rule("group_loss", 0.0, REGION), FEW, FEW, UNSURE),
    (Rule("gap", 0.05, REGION), GOOD, None, PASS),
    (Rule("gap", 0.05, REGION), UNFAIR, None, FAIL),
    (Rule("gap", 0.05, REGION), FEW, None, UNSURE),
    (Rule("same_answers", 0.95), GOOD, DENSE, PASS),
    (Rule("same_answers", 0.95), UNFAIR, DENSE, FAIL),
    (Rule("gap", 0.05, REGION, least=500), {"urban": (970, 1000), "rural": (1, 100)}, None, UNSURE),
]


@pytest.mark.parametrize(("rule", "right", "before", "outcome"), CASES)
def test_cases_with_known_answers(rule: Rule, right: dict, before: dict | None, outcome: str) -> None:
    (finding,) = judge(Policy((rule,)), candidate(right, before))
    assert finding.outcome == outcome
    if not math.isnan(finding.bounds.value):
        assert finding.bounds.low <= finding.bounds.value <= finding.bounds.high


@pytest.mark.parametrize(("latency", "outcome"), [(3.0, PASS), (5.0, PASS), (5.1, FAIL), (math.nan, UNSURE)])
def test_measured_numbers_have_no_interval(latency: float, outcome: str) -> None:
    (finding,) = judge(Policy((Rule("latency_ms", 5.0),)), candidate(GOOD, latency_ms=latency))
    assert finding.outcome == outcome and finding.reason == (NO_MEASURE if outcome == UNSURE else "")


def test_the_group_that_decides_is_named() -> None:
    rules = (Rule("group_loss", 0.05, REGION), Rule("group_accuracy", 0.9, REGION), Rule("gap", 0.05, REGION))
    names = [finding.bounds.group for finding in judge(Policy(rules), candidate(UNFAIR, DENSE))]
    assert names == ["rural", "rural", "rural below urban"]


def test_a_failure_decides_and_then_what_cannot_be_told() -> None:
    sure, unsure, failed = Rule("accuracy", 0.9), Rule("accuracy_loss", 0.02), Rule("accuracy", 0.99)
    for rules, outcome in (((sure,), PASS), ((sure, unsure), UNSURE), ((sure, unsure, failed), FAIL)):
        findings = judge(Policy(rules), candidate(GOOD))
        assert overall(findings) == outcome
    assert judge(Policy((unsure,)), candidate(GOOD))[0].reason == NO_BASELINE


def test_as_many_examples_as_it_asks_for_settle_it() -> None:
    rule = Rule("accuracy", 0.9)
    (finding,) = judge(Policy((rule,)), candidate(FEW))
    assert finding.outcome == UNSURE and finding.unit_needed == "examples"
    factor = math.ceil(1.1 * finding.n_needed / 60)
    more = {name: (right * factor, n * factor) for name, (right, n) in FEW.items()}
    assert judge(Policy((rule,)), candidate(more))[0].outcome == PASS


def test_seeds_that_differ_need_more_seeds() -> None:
    random = np.random.default_rng(0)
    examples = pd.DataFrame({"label": np.zeros(20000, int)})
    answers = (random.random((3, 20000)) > np.array([0.85, 0.93, 0.89])[:, None]).astype(int)
    (finding,) = judge(Policy((Rule("accuracy", 0.9),)), Candidate(examples, answers, None, {}))
    assert finding.outcome == UNSURE and finding.unit_needed == "seeds" and finding.n_needed > 3


def noisy(random: np.random.Generator, fallen: float = 0.0, n: int = 4000, n_writers: int = 80) -> Candidate:
    """Two networks of equal accuracy for every writer; where `fallen`, the second is worse by it in region 3."""
    writer = random.integers(0, n_writers, n)
    region = (writer % 4).astype(str)
    chance = np.clip(0.9 + 0.05 * random.standard_normal(n_writers), 0, 1)[writer]
    before, after = (random.random(n) < chance), (random.random(n) < chance - fallen * (region == "3"))
    examples = pd.DataFrame({"label": 0, "region": region, "writer": [f"w{k}" for k in writer]}, index=range(n))
    return Candidate(examples, (~after).astype(int)[None], (~before).astype(int)[None], {})


STRICT = Policy(
    (Rule("accuracy_loss", 0.0), Rule("group_loss", 0.0, REGION), Rule("group_loss", 0.0, ("label", "region")))
)


@pytest.mark.timeout(1800)
def test_noise_alone_fails_at_most_five_of_a_hundred() -> None:
    random, n_draws = np.random.default_rng(1), 1000 if FULL else 100
    fails = sum(overall(judge(STRICT, noisy(random))) == FAIL for _ in range(n_draws))
    assert fails <= 0.05 * n_draws


def test_a_planted_regression_of_a_group_fails() -> None:
    random, n_draws = np.random.default_rng(2), 100 if FULL else 20
    for _ in range(n_draws):
        findings = judge(Policy((Rule("group_loss", 0.03, REGION),)), noisy(random, fallen=0.2))
        assert findings[0].outcome == FAIL and findings[0].bounds.group == "3"
