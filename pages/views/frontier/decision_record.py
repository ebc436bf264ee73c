"""The decision record: a choice of operating point as a file for machines (JSON) and one for people (HTML)."""

import html
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from plotly.basedatatypes import BaseFigure

from engine.analysis.frontier.choice import Choice
from pages.shared import formats
from pages.shared.charts.style import ALONE
from pages.shared.names import measure_name, technique_name

LIMITS = (
    "Accuracies come from one test split; another population may fare otherwise.",
    "The test split has been looked at to make this choice; confirm it on data that was not used here.",
    "Unfairness is measured between the listed classes and groups only; people it does not list may lose more.",
    "A point on the frontier is a trade-off, not a statement that the network is fair.",
    "Intervals show the spread over seeds, not over data sets or training protocols.",
)

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1b1f24; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; } th, td { text-align: left; padding: .3rem .6rem; }
tr { border-bottom: 1px solid #d8dde3; } td.number, th.number { text-align: right; } code { background: #f3f5f7; }
.small { color: #57606a; font-size: .85rem; }
"""


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
    groups: pd.DataFrame
    cautions: list[str]
    """What to know of this choice beside the limits of every choice."""
    runs: list[dict[str, Any]]
    link: str
    command: str
    made: str
    no_groups: str = ""
    """Why there is no table of groups, where there is none."""


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
        },
        "chosen": decision.chosen,
        "runner_up": decision.runner_up,
        "rivals": _rows(decision.rivals),
        "classes": _rows(decision.classes),
        "groups": _rows(decision.groups),
        "no_groups": decision.no_groups,
        "runs": decision.runs,
        "limits": [*decision.cautions, *LIMITS],
        "link": decision.link,
        "command": decision.command,
    }
    return json.dumps(_plain(values), indent=1, ensure_ascii=False, allow_nan=False)


def decision_html(decision: Decision, figures: Mapping[str, BaseFigure]) -> str:
    """The record for people: one page that needs nothing else."""
    choice = decision.choice
    parts = [
        f"<h1>Decision record: {html.escape(decision.study)}</h1>",
        f"<p>{html.escape(decision.sentence)}</p>",
        "<h2>The rule</h2>",
        _facts(
            {
                "Accuracy at least": formats.percent(choice.threshold),
                "Unfairness measured as": measure_name(choice.measure),
                "Fairness counts": f"{formats.number(choice.weight)} times as much as sparsity",
                "Value": "sparsity − weight × unfairness",
            }
        ),
        "<h2>The choice</h2>",
        _facts({name: _words(name, value, choice.measure) for name, value in decision.chosen.items()}),
    ]
    for number, (title, figure) in enumerate(figures.items()):
        drawn = go.Figure(figure.to_dict()).update_layout(template="plotly_white")
        parts += [f"<h2>{html.escape(title)}</h2>", drawn.to_html(ALONE, full_html=False, include_plotlyjs=number == 0)]
    parts += ["<h2>Class by class</h2>", _table(decision.classes, choice.measure), "<h2>Group by group</h2>"]
    missing = f"<p>There is no table of groups: {html.escape(decision.no_groups)}.</p>"
    parts += [
        _table(decision.groups, choice.measure) if len(decision.groups) else missing,
        "<h2>Rivals, and why they lost</h2>",
        _table(decision.rivals, choice.measure),
        "<h2>How it was made</h2>",
        _table(pd.DataFrame(decision.runs), choice.measure),
        f"<p>Reproduce one run: <code>{html.escape(decision.command)}</code></p>",
        f'<p>Reopen this view: <a href="{html.escape(decision.link, quote=True)}">{html.escape(decision.link)}</a></p>',
        "<h2>Limits</h2>",
        "<ul>" + "".join(f"<li>{html.escape(text)}</li>" for text in (*decision.cautions, *LIMITS)) + "</ul>",
        f'<p class="small">Made {html.escape(decision.made)}.</p>',
    ]
    head = f'<meta charset="utf-8"><title>Decision record: {html.escape(decision.study)}</title><style>{STYLE}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>'


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


def _facts(values: dict[str, str]) -> str:
    rows = "".join(f"<tr><th>{html.escape(_title(k))}</th><td>{html.escape(v)}</td></tr>" for k, v in values.items())
    return f"<table>{rows}</table>"


def _table(table: pd.DataFrame, measure: str) -> str:
    numeric = {name: pd.api.types.is_numeric_dtype(table[name]) for name in table}
    kind = {name: ' class="number"' if is_number else "" for name, is_number in numeric.items()}
    head = "".join(f"<th{kind[name]}>{html.escape(_title(name))}</th>" for name in table)
    body = "".join(
        "<tr>"
        + "".join(f"<td{kind[name]}>{html.escape(_words(name, value, measure))}</td>" for name, value in row.items())
        + "</tr>"
        for row in table.to_dict("records")
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


RATES = ("accuracy", "dense", "control", "low", "high")


def _title(name: object) -> str:
    """A fact's name for people."""
    text = str(name).removesuffix("_sd")
    text = measure_name(text) if measure_name(text) != text else text.replace("_", " ")
    plain = {"n seeds": "seeds", "control": "trained as long, unpruned"}
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
