"""The card of an operating point that was clicked: its numbers, why it is not chosen, and the button that pins it."""

from typing import Any

import pandas as pd
import streamlit as st

from engine.analysis.frontier.choice import Choice, GiveUp
from engine.analysis.frontier.tradeoffs import why_not as reasons
from engine.analysis.frontier.tradeoffs.why_not import WhyNot, why_not
from pages.shared import formats
from pages.shared.frame import Frame
from pages.shared.names import point_name
from pages.shared.session import candidate
from pages.views.frontier import words
from pages.views.frontier.answer import Answer
from pages.views.frontier.chosen.front_table import COST_HEADS
from pages.views.frontier.controls import Question

OPEN = "open point"
"""Where the session keeps the number of the point whose card is open."""


def open_from_chart(key: str) -> None:
    """Open the card of the point that was clicked in a chart."""
    points = st.session_state[key]["selection"]["points"]
    told = points[0].get("customdata") if points else None
    number = told[0] if isinstance(told, list | tuple) and told else told
    if isinstance(number, int | float):
        st.session_state[OPEN] = int(number)


def open_from_row(key: str, numbers: tuple[int, ...]) -> None:
    """Open the card of the point whose row was clicked."""
    rows = st.session_state[key]["selection"]["rows"]
    if rows and rows[0] < len(numbers):
        st.session_state[OPEN] = numbers[rows[0]]


def close() -> None:
    """Close the card."""
    st.session_state.pop(OPEN, None)


def opened(points: pd.DataFrame) -> int | None:
    """The place of the point whose card is open, where it is among these."""
    number = st.session_state.get(OPEN)
    at = (points["point"] == number).to_numpy().nonzero()[0]
    return int(at[0]) if len(at) else None


def show_card(frame: Frame, asked: Question, found: Answer) -> None:
    """The open card, if one is."""
    place = opened(asked.points)
    if place is None:
        return
    points, choice = asked.points, found.choice
    row = asked.tested.iloc[place]
    with st.container(border=True, key="point-card"):
        title, closing = st.columns([8, 1], vertical_alignment="center")
        title.markdown(f"### {_capital(point_name(row))}")
        closing.button("Close", key="close-card", on_click=close, type="tertiary", icon=":material/close:")
        with st.container(horizontal=True, gap="medium"):
            for label, number in card_numbers(row, choice.measure):
                st.markdown(f":small[{label}]  \n**{number}**", width="content")
        wins = found.wins if found.wins is not None else pd.DataFrame(columns=["position", "low", "high"])
        st.markdown(why_sentence(points, choice, why_not(points, choice, wins, found.broken, place), place))
        _show_buttons(frame, row, is_recommended=place in (choice.chosen, *choice.twins))


def _show_buttons(frame: Frame, row: pd.Series, is_recommended: bool) -> None:
    """Pin it, with a reason where it is not recommended; or compare it with the candidate."""
    number, first, second = (
        int(row["point"]),
        candidate.pinned(frame),
        candidate.pinned(frame, candidate.SECOND),
    )
    if first is not None and first.point == number:
        st.caption(f"Pinned as candidate{f': {formats.plain(first.reason)}' if first.reason else ''}.")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        reason = ""
        if not is_recommended:
            reason = st.text_input(
                "Why this one, and not the recommended one?",
                key=f"reason-{number}",
                max_chars=candidate.MOST_LETTERS,
                placeholder="The record keeps the reason",
                width=360,
            )
        wants = st.button("Pin as candidate", key=f"pin-{number}", type="primary", icon=":material/push_pin:")
        compares = first is not None and (second is None or second.point != number)
        if compares and st.button("Compare with the candidate", key=f"compare-{number}", icon=":material/compare:"):
            candidate.pin(frame, row, which=candidate.SECOND)
            st.rerun()
    if wants and not is_recommended and not reason.strip():
        st.warning("Say in a few words why not the recommended one; the record keeps it.", icon=":material/edit:")
    elif wants:
        candidate.pin(frame, row, reason)
        st.rerun()


def show_pin(frame: Frame, asked: Question, found: Answer) -> None:
    """Under the answer: pin what is recommended, or what is pinned instead."""
    first, row = candidate.pinned(frame), asked.tested.iloc[found.choice.chosen]
    if first is not None and first.point == found.number:
        st.caption(":material/push_pin: This is your candidate.")
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button("Pin as candidate", key="pin-chosen", icon=":material/push_pin:"):
            candidate.pin(frame, row)
            st.rerun()
        if first is not None:
            st.caption(f"Your candidate is another one: {candidate.candidate_name(first)}.")


def card_numbers(row: pd.Series, measure: str) -> list[tuple[str, str]]:
    """What a card says of a point, label by label, in markdown; what is not known is left out."""
    numbers = [
        ("Sparsity", formats.sparsity(float(row["sparsity"]))),
        ("Accuracy", formats.percent(row["accuracy"])),
        ("Gap", formats.unfairness(row[measure], measure)),
        (f"Lowest: {formats.plain(row['lowest_group'])}", formats.percent(row["lowest"])),
        (f"Loses most: {formats.plain(row['loss_group'])}", formats.points(-row["loss"])),
        ("Seeds", formats.count(row["n_seeds"])),
    ]
    costs = [(head, formats.number(factor * row[name])) for name, (head, factor) in COST_HEADS.items() if name in row]
    return [(label, text) for label, text in numbers + costs if text != formats.MISSING]


def why_sentence(points: pd.DataFrame, choice: Choice, why: WhyNot, place: int) -> str:
    """Why a point is not chosen, and what it gains and gives up against the one that is; markdown."""
    if why.reason == reasons.CHOSEN:
        return "**It is what the rule recommends.**"
    if why.reason == reasons.EQUAL:
        return "**It has the sparsity and the gap of the recommended one**; that one is more accurate or came first."
    text = f"**Not chosen: {_because(points, why)}.**"
    if choice.chosen is None:
        return text
    mine, theirs = points.iloc[place], points.iloc[choice.chosen]
    gains = GiveUp(
        *(float(mine[name] - theirs[name]) for name in ("sparsity", choice.measure, "accuracy")),
    )
    return f"{text} Against {point_name(theirs)} it {words.give_up(gains, choice.measure)}{_cost_words(mine, theirs)}."


def _because(points: pd.DataFrame, why: WhyNot) -> str:
    if why.reason == reasons.BREAKS:
        return f"it breaks a floor ({formats.plain(why.broken)})" if why.broken else "it breaks a floor"
    if why.beaten_by is not None:
        return f"beaten by {point_name(points.iloc[why.beaten_by])} on both counts"
    if why.weights is not None:
        low, high = map(formats.number, why.weights)
        return f"it would win between weights {low} and {high}"
    if why.reason == reasons.UNKNOWN:
        return "its unfairness cannot be estimated"
    return "it is on the frontier, but at every weight another one is worth more"


def _cost_words(mine: pd.Series, theirs: pd.Series) -> str:
    """What it costs beside another one, where both were measured."""
    parts: list[Any] = [
        f"{formats.number(factor * mine[name])} instead of {formats.number(factor * theirs[name])} {head}"
        for name, (head, factor) in COST_HEADS.items()
        if name in mine and mine[name] == mine[name] and theirs[name] == theirs[name] and mine[name] != theirs[name]
    ]
    return f"; {', '.join(parts)}" if parts else ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
