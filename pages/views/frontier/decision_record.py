"""The decision record: a choice of operating point as a file for machines (JSON) and one for people (HTML)."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from plotly.basedatatypes import BaseFigure

from engine.analysis.frontier.choice import Choice
from engine.analysis.frontier.floors import FLOORS
from pages.shared import formats
from pages.shared.charts.style import ALONE
from pages.shared.names import BASELINE_LABELS, baseline_name, measure_name, technique_name

CHOSEN_ON = {
    "test": "The test split has been looked at to make this choice; confirm it on data that was not used here.",
    "validation": "The choice was made on validation splits; who tries many settings against the test numbers chooses "
    "on them all the same.",
}
LIMITS = (
    "Accuracies come from one test split; another population may fare otherwise.",
    "Unfairness is measured between the listed classes and groups only; people it does not list may lose more.",
    "A point on the frontier is a trade-off, not a statement that the network is fair.",
    "Intervals show the spread over seeds, not over data sets or training protocols.",
)

# A value is text whatever it holds, and a name that the template misspells is an error rather than a gap.
TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


@dataclass(frozen=True)
class Decision:
    """Everything that a record says; the tables have the columns that their headings name."""

    study: str
    sentence: str
    choice: Choice
    chosen: dict[str, Any]
    runner_up: dict[str, Any] | None
    rivals: pd.DataFrame
    classes: pd.DataFrame
    baseline: str
    """What classes and groups are compared with: "control" or "dense"."""
    groups: pd.DataFrame
    cautions: list[str]
    """What to know of this choice beside the limits of every choice."""
    runs: list[dict[str, Any]]
    link: str
    command: str
    made: str
    no_groups: str = ""
    """Why there is no table of groups, where there is none."""
    fair_between: str = "Classes"
    chosen_on: str = "test"
    """The examples that chose; the numbers are the test split's."""
    rule_name: str = "weight"
    floors: dict[str, float] = field(default_factory=dict)
    """The floors that were set, as shares."""

    @property
    def limits(self) -> list[str]:
        """What this choice does not say, and what no choice does."""
        return [*self.cautions, CHOSEN_ON[self.chosen_on], *LIMITS]


def decision_json(decision: Decision) -> str:
    """The record for machines."""
    choice = decision.choice
    values = {
        "kind": "prunescope-decision",
        "version": 1,
        "made": decision.made,
        "study": decision.study,
        "summary": decision.sentence,
        "rule": {
            "accuracy_at_least": choice.threshold,
            "weight": choice.weight,
            "unfairness": choice.measure,
            "value": "sparsity - weight * unfairness",
            "name": decision.rule_name,
            "fair_between": decision.fair_between,
            "floors": decision.floors,
            "chosen_on": decision.chosen_on,
            "reported_on": "test",
        },
        "chosen": decision.chosen,
        "runner_up": decision.runner_up,
        "rivals": _rows(decision.rivals),
        "baseline": {"kind": decision.baseline, "name": baseline_name(decision.baseline)},
        "classes": _rows(decision.classes),
        "groups": _rows(decision.groups),
        "no_groups": decision.no_groups,
        "runs": decision.runs,
        "limits": decision.limits,
        "link": decision.link,
        "command": decision.command,
    }
    return json.dumps(_plain(values), indent=1, ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True)
class Column:
    """The head of a column; numbers stand to the right."""

    title: str
    numeric: bool


@dataclass(frozen=True)
class Grid:
    """A table as a document shows it: each row has one text per column."""

    columns: list[Column]
    rows: list[list[str]]


def decision_html(decision: Decision, figures: Mapping[str, BaseFigure]) -> str:
    """The record for people: one page that needs nothing else."""
    template = TEMPLATES.get_template("decision_record.html.j2")
    return template.render(_context(decision), charts=_charts(figures))


def _context(decision: Decision) -> dict[str, Any]:
    """What the template shows, in plain texts; none of it is markup."""
    choice, measure = decision.choice, decision.choice.measure
    return {
        "study": decision.study,
        "sentence": decision.sentence,
        "rule": [
            ("Accuracy at least", formats.percent(choice.threshold)),
            *(
                (FLOORS[name].label, _limit(name, limit))
                for name, limit in decision.floors.items()
                if name != "accuracy"
            ),
            ("Fair between", decision.fair_between),
            ("Unfairness measured as", measure_name(measure)),
            ("1 point of gap is worth", f"{formats.number(choice.weight)} points of sparsity"),
            ("Value", "sparsity − weight × unfairness"),
            ("Chosen on, reported on", f"{decision.chosen_on}, test"),
        ],
        "chosen": [(_title(name), _words(name, value, measure)) for name, value in decision.chosen.items()],
        "baseline": baseline_name(decision.baseline),
        "classes": _grid(decision.classes, measure, _heads(decision.baseline)),
        "groups": _grid(decision.groups, measure, _heads(decision.baseline)),
        "no_groups": decision.no_groups,
        "rivals": _grid(decision.rivals, measure),
        "runs": _grid(pd.DataFrame(decision.runs), measure),
        "command": decision.command,
        "link": decision.link,
        "limits": decision.limits,
        "made": decision.made,
    }


def _limit(name: str, limit: float) -> str:
    if FLOORS[name].is_cost:
        return f"{FLOORS[name].factor * limit:.2f} {FLOORS[name].unit}"
    return formats.percent(limit) if FLOORS[name].is_least else formats.points_in_words(limit)


def _charts(figures: Mapping[str, BaseFigure]) -> list[tuple[str, Markup]]:
    """Each figure's title and its markup; the first one brings the script that draws them all."""
    charts = []
    for number, (title, figure) in enumerate(figures.items()):
        light = go.Figure(figure.to_dict()).update_layout(template="plotly_white")
        # Plotly escapes what it writes into its own script.
        charts.append((title, Markup(light.to_html(ALONE, full_html=False, include_plotlyjs=number == 0))))
    return charts


def _heads(baseline: str) -> dict[str, str]:
    """Heads of the columns that compare, which name what they compare with."""
    return {
        **{kind: label.lower() for kind, label in BASELINE_LABELS.items()},
        "accuracy": "after",
        "low": "after, low",
        "high": "after, high",
        "change": f"change against {baseline_name(baseline)}",
    }


def _grid(table: pd.DataFrame, measure: str, heads: Mapping[str, str] | None = None) -> Grid:
    titles = {name: (heads or {}).get(str(name), _title(name)) for name in table}
    columns = [Column(titles[name], pd.api.types.is_numeric_dtype(table[name])) for name in table]
    rows = [[_words(name, value, measure) for name, value in row.items()] for row in table.to_dict("records")]
    return Grid(columns, rows)


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def _plain(value: Any) -> Any:
    """The value in JSON's types; a number that is not one, or has no end, is null."""
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if value is pd.NA:
        return None
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


RATES = ("accuracy", "dense", "control", "low", "high")


def _title(name: object) -> str:
    """A fact's name for people."""
    text = str(name).removesuffix("_sd")
    text = measure_name(text) if measure_name(text) != text else text.replace("_", " ")
    plain = {"n seeds": "seeds"}
    return f"{text}, spread over seeds" if str(name).endswith("_sd") else plain.get(text, text)


def _words(name: object, value: Any, measure: str) -> str:
    """A fact for people, in its unit."""
    key, spread = str(name).removesuffix("_sd"), str(name).endswith("_sd")
    if value is None or value is pd.NA:
        return formats.MISSING
    if key == "technique":
        return technique_name(str(value))
    if not isinstance(value, float):
        return str(value)
    if key in ("unfairness", measure):
        return formats.unfairness(value, measure)
    if key == "change" or (spread and key in RATES):
        return formats.points(value, sign=not spread)
    if key == "sparsity":
        return formats.sparsity(value)
    return formats.percent(value) if key in RATES else formats.number(value)
