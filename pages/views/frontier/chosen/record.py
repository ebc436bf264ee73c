"""The Frontier's choice as a decision record: what the page shows, filled into the record's facts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec
import pandas as pd

import engine
from engine.analysis.binary_rates import MEASURES
from engine.analysis.curves.baseline import CONTROL, DENSE
from engine.analysis.frontier.choice import Choice
from engine.analysis.frontier.tradeoffs.compromise import Compromise
from engine.analysis.groupings import CROSSED
from engine.commands.command_line import command_line
from engine.shipping.decision import record_parts as parts
from engine.shipping.decision.decision_facts import (
    MOST_NEAREST,
    GroupFacts,
    OriginFacts,
    PointFacts,
    RecordFacts,
    RuleFacts,
    ShippedSeed,
    UseFacts,
)
from engine.store.records.digests import data_digest, study_digest
from pages.shared import formats
from pages.shared.cache import catalog
from pages.shared.cache.between import Between
from pages.shared.cache.kept import kept
from pages.shared.cache.points import by_seed, group_rows, payers
from pages.shared.frame import Frame
from pages.shared.names import baseline_name, dataset_name, network_name, point_with_level
from pages.views.frontier import tables
from pages.views.frontier.controls import BY_PROMISE, Question
from pages.views.frontier.words import between_name


@dataclass(frozen=True, eq=False)
class Decided:
    """What is decided: the page's question and choice, what it said, and the point that a person takes."""

    frame: Frame
    asked: Question
    choice: Choice
    texts: Sequence[str]
    """What the page said of the choice, the answer first; markdown."""
    link: str
    taken: int | None = None
    """Where the candidate stands that was pinned; None for the recommended one."""
    reason: str = ""
    """Why another one than the recommended."""
    second: Choice | None = None
    """What the second weight chooses, where one was asked."""
    middle: Compromise | None = None
    """The network that costs both least."""

    @property
    def place(self) -> int:
        """Where the point stands that is decided on."""
        place = self.choice.chosen if self.taken is None else self.taken
        assert place is not None, "there is nothing to decide on"
        return place

    @property
    def point(self) -> "pd.Series[Any]":
        """The point by the test split."""
        return self.asked.tested.iloc[self.place]

    @property
    def seeds(self) -> pd.DataFrame:
        """The networks behind the point, by what chose."""
        between, number = self.asked.between, int(self.asked.points["point"].iloc[self.place])

        def made() -> pd.DataFrame:
            rows = by_seed(between)
            return rows[(rows["point"] == number).to_numpy()].reset_index(drop=True)

        return kept(self.frame.source, "seeds of a point", (between, number), made)


def record_facts(decided: Decided, use: UseFacts, seed: int | None = None) -> RecordFacts:
    """The record of a choice; its numbers are those of the test split, the choice is by what chose."""
    frame, asked, choice, place = decided.frame, decided.asked, decided.choice, decided.place
    lost = rival_table(decided)
    texts = [formats.unmarked(text) for text in decided.texts if text]
    experiment = frame.experiment
    groups, no_groups = _groups(decided)
    classes = group_rows(Between(frame.source, experiment), int(decided.point["point"]), frame.baseline)
    kind = CONTROL if "control" in classes else DENSE
    caution = tables.caution(frame, asked.tested, decided.point, choice.measure)
    return RecordFacts(
        title=f"{network_name(experiment.network)} on {dataset_name(experiment.dataset, experiment.split)}",
        summary=_summary(decided, texts),
        texts=texts[1:] if place == choice.chosen else texts,
        network=experiment.network,
        dataset=experiment.dataset,
        chosen=parts.point_facts(asked.tested, place, choice, _name),
        numbers=parts.point_numbers(asked.tested, place, choice.measure, _measure(asked)),
        baseline=baseline_name(kind),
        payers=_payers(decided),
        groups=[*parts.group_facts("class", classes), *groups],
        no_groups=no_groups,
        rule=RuleFacts(
            name=asked.rule,
            fair_between=between_name(asked.between.columns),
            measure=choice.measure,
            measure_label=_measure(asked),
            weight=choice.weight,
            second_weight=asked.second_weight,
            floors=dict(asked.limits),
            floor_texts=parts.floor_texts(asked.limits),
            chosen_on=asked.between.split,
            risk=asked.risk if asked.rule == BY_PROMISE else None,
        ),
        stakeholders=None
        if decided.second is None
        else parts.stakeholder_facts(asked.tested, choice, decided.second, decided.middle, _name),
        ships=_ships(decided, seed),
        use=use
        if not decided.reason
        else UseFacts(intended=use.intended, not_for=use.not_for, reason=use.reason or decided.reason),
        not_checked=[
            *([formats.unmarked(caution)] if caution else []),
            parts.CHOSEN_ON[asked.between.split],
            *parts.LIMITS,
        ],
        alternatives=_alternatives(decided, lost),
        nearest=[
            _rival(decided, lost, at) for at in parts.nearest_places(asked.points, choice, lost, place, MOST_NEAREST)
        ],
        n_rivals=len(lost),
        chart=parts.chart_facts(asked.points, choice, place),
        origin=_origin(decided, seed),
    )


def rival_table(decided: Decided) -> pd.DataFrame:
    """Every other network with its numbers and why it was not chosen: `rivals.csv`."""
    asked = decided.asked
    return parts.rival_rows(asked.points, decided.choice, asked.limits, decided.place, _name)


def _name(row: Mapping[Any, Any]) -> str:
    extra = f", mitigation {row['mitigation']}" if str(row["mitigation"]) not in ("none", "") else ""
    return f"{point_with_level(row)}{extra if row['level'] else ''}"


def _measure(asked: Question) -> str:
    return MEASURES[asked.measure].label_between(CROSSED.join(asked.between.columns))


def _ships(decided: Decided, seed: int | None) -> ShippedSeed:
    """The seed that ships, picked by what chose, with its numbers on the test split."""
    measure = decided.choice.measure
    ships = parts.shipped_seed(decided.seeds, measure, seed)
    rows = by_seed(decided.asked.between.on_test())
    row = rows[((rows["run"].astype(str) == ships.run) & (rows["level"] == ships.level)).to_numpy()].iloc[0]
    return msgspec.structs.replace(ships, accuracy=parts.known(row["accuracy"]), unfairness=parts.known(row[measure]))


def _summary(decided: Decided, texts: Sequence[str]) -> str:
    """The page's answer; where a person takes another network, that comes first."""
    if decided.place == decided.choice.chosen:
        return texts[0] if texts else ""
    point, measure = decided.point, decided.choice.measure
    return (
        f"Chosen against the recommendation: {_name(point)}, {formats.sparsity(point['sparsity'])} sparsity (accuracy "
        f"{formats.percent(point['accuracy'])}, gap {formats.unfairness(point[measure], measure)})."
    )


def _payers(decided: Decided) -> list[GroupFacts]:
    rows = payers(decided.asked.between, int(decided.point["point"]), decided.frame.baseline)
    return parts.group_facts("", rows.assign(grouping=[" x ".join(names) for names in rows["columns"]]))


def _groups(decided: Decided) -> tuple[list[GroupFacts], str]:
    table, reason = tables.groups_of(decided.frame, decided.point)
    return (parts.group_facts("", table) if len(table) else []), reason


def _alternatives(decided: Decided, lost: pd.DataFrame) -> list[PointFacts]:
    """Those that somebody would ask about: the recommended one, the runner-up, the second weight's,
    the compromise, the next best."""
    choice, taken = decided.choice, decided.place
    wanted: dict[int, str] = {}
    if choice.chosen is not None and choice.chosen != taken:
        wanted[choice.chosen] = "Recommended"
    if choice.runner_up is not None and choice.runner_up != taken:
        wanted.setdefault(choice.runner_up, "Runner-up")
    if decided.second is not None and decided.second.chosen not in (None, taken):
        wanted.setdefault(int(decided.second.chosen or 0), "Second weight")
    if decided.middle is not None and decided.middle.place != taken:
        wanted.setdefault(decided.middle.place, "Compromise")
    for place in parts.nearest_places(decided.asked.points, choice, lost, taken, 3):
        if len(wanted) < 3:
            wanted.setdefault(place, "Next best")
    return [_rival(decided, lost, place, role) for place, role in wanted.items()]


def _rival(decided: Decided, lost: pd.DataFrame, place: int, role: str = "") -> PointFacts:
    rows = lost[(lost["position"] == place).to_numpy()]
    reason = str(rows["reason"].iloc[0]) if len(rows) else f"not taken: {decided.reason}"
    return parts.point_facts(decided.asked.tested, place, decided.choice, _name, role, reason)


def _origin(decided: Decided, seed: int | None) -> OriginFacts:
    frame = decided.frame
    study, runs = frame.source.study, tables.runs_of(frame, decided.point)
    made = {str(run): study.run_record(str(run)) for run in runs["run"]}
    ships = parts.shipped_seed(decided.seeds, decided.choice.measure, seed).run
    examples = catalog.example_set(frame.source, frame.experiment)
    return OriginFacts(
        study=str(study.info.get("title") or frame.name),
        study_digest=study_digest(study),
        examples=examples,
        data_digest=data_digest(study, examples),
        n_examples=len(catalog.examples(frame.source, examples)),
        prunescope=engine.__version__,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        link=decided.link,
        command=command_line(made[ships].spec),
        runs=[
            {"run": run, "seed": record.spec.seed, **{k: v for k, v in record.provenance.items() if v != ""}}
            for run, record in made.items()
        ],
    )
