"""What a policy may ask of a candidate: the table of measures, and a rule on one of them."""

import math
from dataclasses import dataclass
from typing import Final, Literal

from engine.analysis.columns import CLASS

AT_LEAST: Final = "at_least"
AT_MOST: Final = "at_most"
Side = Literal["at_least", "at_most"]
PASS: Final = "pass"
FAIL: Final = "fail"
UNSURE: Final = "cannot be told"
Outcome = Literal["pass", "fail", "cannot be told"]


@dataclass(frozen=True)
class MeasureRow:
    """One measure: which way is good, what it needs, and how sentences name it."""

    key: str
    label: str
    side: Side
    is_share: bool = True
    """Whether it is a share or a difference of shares, so that it has an interval and a limit from 0 to 1."""
    needs_groups: bool = False
    needs_baseline: bool = False
    unit: str = ""


MEASURES: dict[str, MeasureRow] = {
    row.key: row
    for row in (
        MeasureRow("accuracy", "accuracy", AT_LEAST),
        MeasureRow("accuracy_loss", "loss of accuracy", AT_MOST, needs_baseline=True),
        MeasureRow("group_accuracy", "accuracy of the worst group", AT_LEAST, needs_groups=True),
        MeasureRow("group_loss", "largest loss of a group", AT_MOST, needs_groups=True, needs_baseline=True),
        MeasureRow("gap", "gap between groups", AT_MOST, needs_groups=True),
        MeasureRow("same_answers", "answers equal to the baseline's", AT_LEAST, needs_baseline=True),
        MeasureRow("answers_equal", "share of the file's answers equal to the record", AT_LEAST, is_share=False),
        MeasureRow("latency_ms", "latency", AT_MOST, is_share=False, unit="ms"),
        MeasureRow("bytes", "size", AT_MOST, is_share=False, unit="bytes"),
        MeasureRow("macs", "multiply-accumulates", AT_MOST, is_share=False, unit="MACs"),
        MeasureRow("weights", "weights kept", AT_MOST, is_share=False, unit="weights"),
    )
}


@dataclass(frozen=True)
class Rule:
    """A limit on a measure; `effect` is how far beyond it a candidate may truly lie before anybody minds."""

    measure: str
    limit: float
    between: tuple[str, ...] = (CLASS,)
    effect: float = 0.01
    least: int = 20
    """Examples that a group has at least to count."""

    @property
    def row(self) -> MeasureRow:
        """The measure's row."""
        return MEASURES[self.measure]


@dataclass(frozen=True)
class Policy:
    """Rules that must all hold, and how sure one must be of a failure or a pass, of all rules together."""

    rules: tuple[Rule, ...]
    confidence: float = 0.95


@dataclass(frozen=True)
class Bounds:
    """The number that a rule is about, the ends of its interval, and the group and the examples that decide."""

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    group: str = ""
    seeds_share: float = 0.0
    """Share of its variance that comes from seeds."""


@dataclass(frozen=True)
class Finding:
    """What became of a rule, and by which numbers it was judged."""

    rule: Rule
    outcome: Outcome
    bounds: Bounds = Bounds()
    n_needed: int = 0
    """Where it cannot be told: how many `unit_needed` would about settle it, if the value stayed where it is."""
    unit_needed: str = "examples"
    reason: str = ""
    """Why it cannot be told, where no number of examples would help."""
