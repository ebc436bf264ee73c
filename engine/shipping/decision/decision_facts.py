"""What a decision record says: the facts from which every rendering of it is made, and their JSON schema.

Shares are from 0 to 1; a number that is not known is null.
"""

from typing import Any, Literal

import msgspec

from engine.errors import PruneScopeError

VERSION = 2
SCHEMA_ID = "https://json-schema.org/draft/2020-12/schema"
MOST_NEAREST = 10
"""Rivals that the appendix names; all of them are in the CSV file."""


class Facts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Facts by name."""


class Number(Facts, frozen=True, kw_only=True):
    """A number of the chosen network, mean over its seeds, with its 95 % interval and what the dense network has."""

    key: str
    label: str
    unit: Literal["share", "points", "number"]
    value: float | None
    low: float | None = None
    high: float | None = None
    baseline: float | None = None


class GroupFacts(Facts, frozen=True, kw_only=True):
    """A class or a group before and after, with its size and the 95 % interval of its accuracy after."""

    grouping: str
    group: str
    n: int
    before: float | None
    after: float | None
    low: float | None = None
    high: float | None = None
    change: float | None = None


class PointFacts(Facts, frozen=True, kw_only=True):
    """A network that could have been chosen, and why it was not."""

    name: str
    technique: str
    treatment: str
    mitigation: str
    level: int
    n_seeds: int
    sparsity: float | None
    accuracy: float | None
    unfairness: float | None
    value: float | None
    reason: str = ""
    role: str = ""
    """Such as "runner-up", where it has a part of its own."""


class RuleFacts(Facts, frozen=True, kw_only=True):
    """How the choice was made."""

    name: str
    fair_between: str
    measure: str
    measure_label: str
    weight: float
    second_weight: float | None
    floors: dict[str, float]
    """Each floor that was set, by its name."""
    floor_texts: list[str]
    chosen_on: str
    reported_on: str = "test"
    value: str = "sparsity - weight * unfairness"
    risk: float | None = None
    """How probable a broken promise may be; null where nothing was promised."""


class Stakeholder(Facts, frozen=True, kw_only=True):
    """One of two people with a weight each: what they would choose, and what the compromise costs them.

    The cost is a share: 0 is their own choice, 1 what the other one would choose; null where there is no compromise.
    """

    weight: float
    choice: PointFacts
    cost: float | None = None


class StakeholderFacts(Facts, frozen=True, kw_only=True):
    """Two stakeholders, whether they agree, and the network whose larger cost of the two is least."""

    both: tuple[Stakeholder, Stakeholder]
    agree: bool
    compromise: PointFacts | None = None


class ShippedSeed(Facts, frozen=True, kw_only=True):
    """The one network among the seeds that ships."""

    run: str
    seed: int
    level: int
    why: str
    accuracy: float | None
    unfairness: float | None


class UseFacts(Facts, frozen=True, kw_only=True):
    """What people wrote of the model's use, and of why this network."""

    intended: str = ""
    not_for: str = ""
    reason: str = ""
    """Why another network than the recommended one was chosen; empty where it was the recommended one."""


class ChartFacts(Facts, frozen=True, kw_only=True):
    """What the record's chart of all networks shows: [sparsity, unfairness, kind] each, and the frontier's line.

    Kinds: "kept", "rejected", "chosen", "runner-up".
    """

    points: list[tuple[float, float, str]]
    frontier: list[tuple[float, float]]
    unfairness_in_points: bool
    n_points: int


class OriginFacts(Facts, frozen=True, kw_only=True):
    """Where the numbers come from."""

    study: str
    study_digest: str
    examples: str
    data_digest: str
    n_examples: int
    prunescope: str
    made: str
    link: str
    command: str
    runs: list[dict[str, Any]]


class RecordFacts(Facts, frozen=True, kw_only=True):
    """A decision record."""

    kind: Literal["prunescope-decision"] = "prunescope-decision"
    version: Literal[2] = 2
    title: str
    summary: str
    """The answer in one sentence, the verdict first."""
    texts: list[str]
    """What else was said of the choice: against the runner-up, who pays, the second stakeholder."""
    network: str
    dataset: str
    chosen: PointFacts
    numbers: list[Number]
    baseline: str
    """What classes and groups are compared with, in words."""
    payers: list[GroupFacts]
    """Of each grouping the group that loses most, the largest loss first."""
    groups: list[GroupFacts]
    no_groups: str = ""
    rule: RuleFacts
    stakeholders: StakeholderFacts | None = None
    """Null where one weight was asked."""
    ships: ShippedSeed
    use: UseFacts
    not_checked: list[str]
    alternatives: list[PointFacts]
    """Those that people would ask about, such as the runner-up."""
    nearest: list[PointFacts]
    n_rivals: int
    chart: ChartFacts
    origin: OriginFacts


def record_json(record: RecordFacts) -> str:
    """The record for machines."""
    return msgspec.json.format(msgspec.json.encode(record), indent=1).decode() + "\n"


def record_values(record: RecordFacts) -> dict[str, Any]:
    """The record in JSON's types, as a study keeps it."""
    values = msgspec.to_builtins(record)
    assert isinstance(values, dict)
    return values


def record_from(values: object) -> RecordFacts:
    """The record that a study or a file holds; refused where it is none of this version."""
    try:
        if isinstance(values, bytes | str):
            return msgspec.json.decode(values, type=RecordFacts)
        return msgspec.convert(values, RecordFacts)
    except msgspec.MsgspecError as error:
        raise PruneScopeError(f"This is no decision record of version {VERSION}: {error}.") from error


def record_schema() -> dict[str, Any]:
    """The JSON schema that every record for machines keeps to."""
    return {"$schema": SCHEMA_ID, "title": "PruneScope decision record", **msgspec.json.schema(RecordFacts)}
