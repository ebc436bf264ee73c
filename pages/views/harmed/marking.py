"""Marks as people give them: under whose name, with what note, beside whose; and how two people agree."""

import hashlib
from itertools import combinations

import pandas as pd
import streamlit as st

from engine.access import OPEN, access_mode
from engine.analysis.examples.raters import agreeing
from engine.store.annotations import LONGEST_NOTE, MARKS, marks_stamp, write_mark
from pages.shared import formats
from pages.shared.cache import predictions
from pages.shared.frame import Frame
from pages.shared.pickers import ExampleSet
from pages.shared.session.access import OWN_NAME, as_person, may_write, person

NAMELESS = "nobody named"


def marks_of_all(frame: Frame, example_set: ExampleSet) -> pd.DataFrame:
    """Every person's marks on these examples as they are now."""
    stamp = marks_stamp(frame.source.study, example_set.name)
    return predictions.marks_by_person(frame.source, example_set.name, stamp)


def choose_name() -> None:
    """Let who need not sign in say who they are; marks carry the name."""
    if access_mode() != OPEN:
        return
    usual = person()
    st.text_input(
        "You mark as",
        key=OWN_NAME,
        max_chars=80,
        width=260,
        placeholder=usual.name if usual else "",
        help="Marks carry this name, so that two people's can be laid side by side.",
    )


def show_marking(
    frame: Frame, name: str, example: int, everyone: pd.DataFrame, model: str, called: object = None
) -> None:
    """The reader's own mark and note on an example, `called` as the user's data has it, and what others said of it."""
    me = person()
    here = everyone[everyone["example"] == example]
    mine = here[here["who"].isin([me.name, ""] if me else [])]
    mark, note = (mine["mark"].iloc[-1], mine["note"].iloc[-1]) if len(mine) else (None, "")
    whose = hashlib.sha256((me.name if me else "").encode()).hexdigest()[:6]
    key = f"mark-{name}-{example}-{mark}-{whose}"
    st.segmented_control(
        f"Mark example {example if called is None else called}",
        list(MARKS),
        default=mark,
        key=key,
        label_visibility="collapsed",
        width="stretch",
        on_change=as_person(_save),
        args=(frame, name, example, key, note, model),
        disabled=not may_write(),
    )
    if mark is not None:
        noted = f"note-{name}-{example}-{mark}-{whose}"
        st.text_input(
            f"Note on example {example}",
            note,
            key=noted,
            label_visibility="collapsed",
            placeholder="Note",
            max_chars=LONGEST_NOTE,
            on_change=as_person(_save_note),
            args=(frame, name, example, mark, noted, model),
            disabled=not may_write(),
        )
    others = here[~here.index.isin(mine.index)]
    if len(others):
        said = "; ".join(f"{row.who or NAMELESS}: {row.mark}" for row in others.itertuples())
        st.caption(formats.plain(said))


def show_agreement(frame: Frame, example_set: ExampleSet) -> None:
    """How each two people agree on the examples that both marked; nothing while one person marks alone."""
    everyone = marks_of_all(frame, example_set)
    people = [str(name) for name in everyone["who"].value_counts().index if name][:6]
    if len(people) < 2:
        return
    found = {pair: agreeing(everyone, *pair, tuple(MARKS)) for pair in combinations(people, 2)}
    rows = [
        {
            "one": one,
            "the other": other,
            "both marked": result.n,
            "agree": formats.percent(result.share, 0),
            "kappa": formats.fixed(result.kappa, 2),
            "": result.reason,
        }
        for (one, other), result in found.items()
    ]
    st.markdown(
        "## Do people mark alike?",
        help="Cohen's kappa: 1 where two people agree on all that both marked, 0 where they agree as often as chance "
        "would have them.",
    )
    st.dataframe(pd.DataFrame(rows), hide_index=True, alt="How often each two people agree, and Cohen's kappa.")


def _save(frame: Frame, name: str, example: int, key: str, note: str, model: str) -> None:
    write_mark(frame.source.study, name, example, st.session_state[key], note, model)


def _save_note(frame: Frame, name: str, example: int, mark: str, key: str, model: str) -> None:
    write_mark(frame.source.study, name, example, mark, st.session_state[key], model)
