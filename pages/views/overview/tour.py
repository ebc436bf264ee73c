"""The tour: five steps from "accuracy looks fine" to "what we ship and guard", on the page and as one file."""

import json
from dataclasses import asdict, dataclass, replace
from functools import cache
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from engine.analysis.frontier.choice import Choice, choose
from engine.store.validation import VALIDATION
from pages.shared import formats
from pages.shared.cache import catalog
from pages.shared.cache.between import Between, has_validation
from pages.shared.cache.kept import kept
from pages.shared.cache.points import operating
from pages.shared.frame import Frame
from pages.shared.names import baseline_name, point_name, variant_name
from pages.views.overview import hero as pictures
from pages.views.overview import tour_charts as charts
from pages.views.overview.hero import Hero

MEASURE, WEIGHT, WITHIN = "max_min", 1.0, 0.01
"""The choice that the Frontier opens with: its measure, its weight, and how far below dense the accuracy may lie."""
FINE = 0.015
"""A total that loses less than this looks fine."""
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)
"""The saved file may not ask anybody for anything."""


@dataclass(frozen=True)
class Step:
    """One step: its title, its sentence, its chart as an image with what that shows, and what a presenter says."""

    title: str
    sentence: str
    chart: str
    alt: str
    notes: str


def steps(frame: Frame, hero: Hero | None, dark: bool) -> list[Step]:
    """The steps that the study can fill, in order."""
    ink = charts.INKS[dark]
    found: list[Step] = []
    if hero is not None:
        found += [total_step(hero, ink), losers_step(hero, ink)]
        if hero.tiled:
            found.append(person_step(frame, hero, ink, dark))
    between = Between(frame.source, frame.experiment, baseline=frame.baseline)
    tested = frame.keep(operating(between, frame.baseline))
    points = tested
    if has_validation(frame.source, frame.experiment):
        points = frame.keep(operating(replace(between, split=VALIDATION), frame.baseline))
    if points[MEASURE].notna().sum() > 1:
        choice = choice_of(points)
        found.append(trade_step(points, choice, ink))
        if choice.chosen is not None and points["level"].iloc[choice.chosen] > 0:
            found += ship_step(frame, tested, choice, ink)
    return found


def choice_of(points: pd.DataFrame) -> Choice:
    """What the Frontier chooses before anybody sets anything."""
    dense = points[points["level"] == 0]
    usual = dense["accuracy"].mean() if len(dense) else points["accuracy"].max()
    return choose(points, float(np.clip(round(usual - WITHIN, 3), 0, 1)), WEIGHT, MEASURE)


def total_step(hero: Hero, ink: charts.Ink) -> Step:
    """What the total says."""
    pays, at = hero.pays, hero.stop
    fine = pays.total_losses[at] < FINE and pays.total[at] >= 0.5
    sentence = (
        f"With {formats.sparsity(pays.sparsity[at])} of the weights cut, accuracy is "
        f"{formats.percent(pays.total[at])}, against {formats.percent(pays.before[at])} unpruned."
    )
    axis = charts.percent_axis("accuracy", np.concatenate([pays.total[: at + 2], pays.before]), 0.1)
    series = [("unpruned", pays.before, ink.faint), ("pruned", pays.total, ink.text)]
    return Step(
        "Accuracy looks fine" if fine else "What accuracy says",
        sentence,
        charts.address(charts.lines(_levels(hero), axis, series, at, ink)),
        sentence,
        f"This is the number that a release is judged by: an average over all examples and "
        f"{formats.seeds(pays.n_seeds)}. Unpruned means {baseline_name(pays.kind)}. Ask the room: would you ship it?",
    )


def losers_step(hero: Hero, ink: charts.Ink) -> Step:
    """Who loses while the total does not."""
    pays, (one, several) = hero.pays, hero.word
    losses = pays.losses[hero.stop]
    order = np.argsort(-losses, kind="stable")
    n, total = hero.n_paying, float(pays.total_losses[hero.stop])
    much = formats.from_points_on(hero.line.loss)
    moved = f"{'loses' if total >= 0 else 'gains'} {formats.points_in_words(total)}"
    sentence = (
        f"{n} of {len(losses)} {several} {'loses' if n == 1 else 'lose'} {much}; all together, accuracy {moved}."
        if n
        else f"The {one} hit hardest loses {formats.points_in_words(max(losses.max(), 0))}; all together, it {moved}."
    )
    axis = charts.percent_axis("points lost", np.array([0.0, losses.min(), losses.max(), total]), 0.05)
    names = [pays.parties[place] for place in order]
    return Step(
        "Who loses",
        sentence,
        charts.address(charts.columns(_in_points(axis), losses[order], names, hero.line.loss, total, ink)),
        pictures.finding(hero),
        f"Each column is a {one}; the dashed line is everybody together. The same network, the same level as before: "
        f"only the average has been taken apart. {pictures.chance_sentence(hero)}",
    )


def person_step(frame: Frame, hero: Hero, ink: charts.Ink, dark: bool) -> Step:
    """The member who loses most."""
    pays, (_, several) = hero.pays, hero.word
    losses = pays.losses[hero.stop]
    worst = int(losses.argmax())
    who = pictures.party_name(hero, worst)
    total = float(pays.total_losses[hero.stop])
    times = f", {formats.times(losses[worst] / total)} what all lose together," if total > 0.001 else ""
    sentence = (
        f"{who[:1].upper()}{who[1:]} loses {formats.points_in_words(max(losses[worst], 0))}{times} "
        f"on {formats.count(pays.n[worst])} examples."
    )
    mine, everyone = pays.losses[:, worst], pays.total_losses
    axis = charts.percent_axis(
        "points lost", np.array([0.0, mine.min(), mine[: hero.stop + 3].max(), *everyone[:2]]), 0.1
    )
    series = [("all together", everyone, ink.faint), (who[:22], mine, ink.paying)]
    svg = charts.lines(_levels(hero), _in_points(axis), series, hero.stop, ink)
    shown = pictures.member_sheet(hero, frame.source, frame.experiment, pays.parties[worst])
    if shown is not None:
        svg = charts.with_thumbnails(svg, *shown, dark)
    return Step(
        "A person",
        sentence,
        charts.address(svg),
        sentence,
        f"One of {len(losses)} {several}, picked because the loss is largest, and so partly by luck. The Writers page "
        "says how much of it chance explains.",
    )


def trade_step(points: pd.DataFrame, choice: Choice, ink: charts.Ink) -> Step:
    """What of sparsity and gap can be traded."""
    known = points[MEASURE].notna().to_numpy()
    n = int((choice.frontier & known).sum())
    sentence = (
        f"Of {formats.count(len(points))} networks, {n} are unbeaten: sparser ones leave a wider gap between classes."
        if n > 1
        else f"Of {formats.count(len(points))} networks, one is the sparsest and the most even, and accurate enough."
    )
    sparsity = points["sparsity"].to_numpy(float)
    kept = -np.log10(np.clip(1 - sparsity, 1e-4, 1))
    ends = [share for share in (0.0, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.999) if share <= sparsity.max() + 0.01]
    x = charts.Axis("weights cut", 0, max(float(kept.max()), 0.1), [(-np.log10(1 - s), f"{100 * s:g} %") for s in ends])
    gaps = points[MEASURE].to_numpy(float)
    y = charts.percent_axis(
        "gap between best and worst class", np.concatenate([[0.0], gaps[choice.survivors & known]]), 0.1
    )
    return Step(
        "What can be traded",
        sentence,
        charts.address(
            charts.cloud(x, y, kept[known], gaps[known], choice.frontier[known], _place(choice, known), ink)
        ),
        sentence,
        f"Only networks of at least {formats.percent(choice.threshold)} accuracy can be chosen. How many points of gap "
        "a point of sparsity is worth is for people to say, not for data: the Frontier page has the slider.",
    )


def ship_step(frame: Frame, points: pd.DataFrame, choice: Choice, ink: charts.Ink) -> list[Step]:
    """The choice, and the floor that guards it; none where the worst class is never right."""
    assert choice.chosen is not None
    chosen = points.iloc[choice.chosen]
    means = catalog.class_means(frame.source, frame.experiment)
    mine = means[(means["point"] == chosen["point"]).to_numpy()].sort_values("accuracy")
    names = [frame.class_names.get(int(number), str(number)) for number in mine["class"]]
    accuracy = mine["accuracy"].to_numpy(float)
    floor = np.floor(1000 * float(np.nanmin(accuracy))) / 1000
    sentence = (
        f"Ship {variant_name(chosen)} at {formats.sparsity(chosen['sparsity'])}; stop a release if a class falls below "
        f"{formats.percent(floor)}."
    )
    if not floor > 0:
        return []
    shown = slice(0, 12)
    y = charts.percent_axis("accuracy by class, lowest first", np.append(accuracy, chosen["accuracy"]), 0.1)
    step = Step(
        "What we ship and guard",
        sentence,
        charts.address(charts.columns(y, accuracy[shown], names[shown], np.inf, float(chosen["accuracy"]), ink)),
        f"{formats.unmarked(point_name(chosen))}: accuracy {formats.percent(chosen['accuracy'])}, worst class "
        f"{names[0]} with {formats.percent(accuracy[0])}.",
        f"The Frontier writes the record of this choice. `prunescope gate` checks every later model against such "
        f"floors and fails the release that breaks one. Accuracy {formats.percent(chosen['accuracy'])}, gap "
        f"{formats.points(chosen[MEASURE], sign=False)}.",
    )
    return [step]


# -- on the page, and as a file ---------------------------------------------------------------------------------------


def guide(frame: Frame, hero: Hero | None, asked: str, title: str, link: dict[str, list[str]]) -> None:
    """The tour on the page, from the step that the address asks for, with ways to keep it and to leave it."""
    key = (frame.experiment, frame.techniques, frame.treatments, frame.baseline, frame.dark)
    found = kept(frame.source, "tour", key, lambda: steps(frame, hero, frame.dark))
    if found:
        first = int(asked) - 1 if asked.isdecimal() else 0
        _component()(data=tour_content(found, first), key="tour")
    else:
        st.info("**This study has nothing to tour yet.** It needs a dense network and a pruned one.")
    below = st.container(horizontal=True, vertical_alignment="center")
    with below:
        if found:
            st.download_button(
                "Save as one file",
                lambda: tour_file(steps(frame, hero, dark=False), title),
                "prunescope-tour.html",
                "text/html",
                on_click="ignore",
                icon=":material/download:",
                help="Opens in any browser without a network, and prints to PDF, a step a page.",
            )
        st.page_link("app.py", label="Leave the tour", icon=":material/close:", query_params=link)
    st.caption("Arrow keys go from step to step; N shows the presenter's notes.")


def tour_content(found: list[Step], first: int, alone: bool = False) -> dict[str, Any]:
    """What the browser needs; `alone` in a file of its own."""
    return {"steps": [asdict(step) for step in found], "first": first, "alone": alone}


def tour_file(found: list[Step], title: str) -> bytes:
    """The tour as one HTML file that asks nobody for anything."""
    content = json.dumps(tour_content(found, 0, alone=True)).replace("<", "\\u003c")
    script = _source("js").replace("export default function", "function start")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>body {{margin: 2rem; background: #FFFFFF}} "
        "@page {size: A4 landscape; margin: 15mm}\n"
        f"{_source('css')}</style></head><body><main><h1>{escape(title)}</h1>{_source('html')}</main>"
        f'<script type="application/json" id="tour">{content}</script><script>{script}\n'
        'start({data: JSON.parse(document.getElementById("tour").textContent), parentElement: document});</script>'
        "</body></html>"
    ).encode()


def _source(kind: str) -> str:
    return (pictures.HERE / f"tour.{kind}").read_text(encoding="utf-8")


@cache
def _component() -> Any:
    return st.components.v2.component("prunescope_tour", html=_source("html"), css=_source("css"), js=_source("js"))


def _levels(hero: Hero) -> charts.Axis:
    return charts.level_axis([formats.sparsity(value) for value in hero.pays.sparsity])


def _in_points(axis: charts.Axis) -> charts.Axis:
    return charts.Axis(axis.name, axis.low, axis.high, [(mark, f"{100 * mark:.0f}") for mark, _ in axis.ticks])


def _place(choice: Choice, known: np.ndarray) -> int | None:
    """Where the chosen point stands among those that are drawn."""
    return None if choice.chosen is None or not known[choice.chosen] else int(known[: choice.chosen].sum())
