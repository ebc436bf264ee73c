"""The Harmed examples page in parts: the filters, the gallery with its marks, the export."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from engine.analysis.examples.exemplars import Cut, Divergence, ranking, votes
from engine.store.annotations import MARKS, marks_stamp
from pages.shared import bound, formats
from pages.shared.cache import predictions
from pages.shared.example_images import example_images, show_credit, show_problem
from pages.shared.formats import csv_bytes
from pages.shared.frame import Frame
from pages.shared.names import BASELINE_LABELS, group_in_words, group_name
from pages.shared.pickers import ExampleSet, Populations, distinct
from pages.views.harmed.level_path import show_path
from pages.views.harmed.marking import choose_name, marks_of_all, show_agreement, show_marking
from pages.views.harmed.vote_card import WIDTH, vote_card

PAGE = 12
ANY = "any"
SHOWN = {"Top 1 %": 99.0, "Top 5 %": 95.0, "Top 10 %": 90.0, "Majority changed": None, "All": 0.0}
SHOWN_HELP = (
    "The examples for which most votes move between unpruned and pruned networks, or all whose most frequent answer "
    "changes (Hooker's taxicab percentiles and modal exemplars)."
)
EQUAL = """
[class*="st-key-mark-"] [role="radiogroup"], [class*="st-key-mark-"] [role="group"] {flex-wrap: nowrap; width: 100%}
[class*="st-key-mark-"] button {flex: 1 1 0; min-width: 4.3rem; padding: 0.2rem 0; justify-content: center}
[class*="st-key-mark-"] button p {font-size: 0.75rem; overflow: visible; text-overflow: clip}
@media (max-width: 640px) {
  div:has(> [class*="st-key-card-"]) {flex: 1 0 100% !important}
  [class*="st-key-card-"] [data-testid="stElementContainer"]:has(img), [class*="st-key-card-"] :has(img),
  [class*="st-key-card-"] img {width: 100% !important}
}
"""
"""Three buttons of one width in a row under every card; on a phone a card is as wide as the page."""
MARK_FILTER = ("all", "not yet marked", *MARKS)


@dataclass(frozen=True, eq=False)
class Exemplars:
    """What the page works on: the examples, the networks, and how they disagree."""

    example_set: ExampleSet
    networks: Populations
    divergence: Divergence


def choose_examples(frame: Frame, exemplars: Exemplars, cuts: dict[float, Cut]) -> np.ndarray:
    """Positions of the examples that the filters leave, most changed first."""
    example_set = exemplars.example_set
    table = example_set.examples
    keep = np.ones(len(table), bool)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        shown = bound.segmented_control("Show", list(SHOWN), default="Top 1 %", key="show", help=SHOWN_HELP)
        percentile = SHOWN[str(shown)]
        if percentile is None:
            keep &= exemplars.divergence.modal
        elif percentile:
            keep &= cuts[percentile].listed
        names = distinct(
            [str(c) for c in example_set.classes["class"]],
            lambda c: example_set.class_names[int(c)],
        )
        chosen = _pick("Class", list(names), "class")
        if chosen != ANY:
            keep &= (table["label"] == int(names[chosen])).to_numpy()
        for label, columns in (
            ("Group", example_set.group_columns),
            ("Member", example_set.member_columns[:1]),
        ):
            keep &= _choose_group(table, columns, label)
        keep &= _choose_mark(frame, exemplars)
    order = ranking(exemplars.divergence.taxicab)
    return order[keep[order]]


def _choose_group(table: pd.DataFrame, columns: list[str], label: str) -> np.ndarray:
    """The examples of one group of one of the columns."""
    everyone = np.ones(len(table), bool)
    places = {
        f"{column.replace('_', ' ')}: {group_name(column, str(value))}": (column, value)
        for column in columns
        for value in sorted(table[column].dropna().unique().tolist(), key=lambda value: (str(type(value)), value))
    }
    if not places:
        return everyone
    name = columns[0].replace("_", " ").capitalize() if len(columns) == 1 else label
    chosen = _pick(name, list(places), label.lower())
    if chosen == ANY:
        return everyone
    column, value = places[chosen]
    return np.asarray((table[column] == value).to_numpy(bool, na_value=False))


def _choose_mark(frame: Frame, exemplars: Exemplars) -> np.ndarray:
    chosen = str(bound.selectbox("Marks", list(MARK_FILTER), key="marks", width=120))
    marks = current_marks(frame, exemplars.example_set)
    n = len(exemplars.example_set.examples)
    if chosen == "all":
        return np.ones(n, bool)
    wanted = marks if chosen == "not yet marked" else marks[marks["mark"] == chosen]
    inside = np.isin(np.arange(n), wanted["example"])
    return ~inside if chosen == "not yet marked" else inside


def current_marks(frame: Frame, example_set: ExampleSet) -> pd.DataFrame:
    """The marks on these examples as they are now."""
    return predictions.marks(frame.source, example_set.name, marks_stamp(frame.source.study, example_set.name))


def show_gallery(frame: Frame, exemplars: Exemplars, order: np.ndarray) -> None:
    """The examples page by page: picture, votes, groups, and the mark that a person gives."""
    n_pages = max(1, -(-len(order) // PAGE))
    if not len(order):
        st.info("**No example is left.** Show more of them, or another class or group.", icon=":material/info:")
        return
    top = st.container(horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute")
    page = 1
    if n_pages > 1:
        look = {"step": 1.0, "format": "%.0f", "width": 140, "where": top}
        page = int(bound.number_input("Page", 1, n_pages, 1, key="page", **look) or 1)
    first = (min(page, n_pages) - 1) * PAGE
    top.caption(
        f"{formats.count(first + 1)} to {formats.count(min(first + PAGE, len(order)))} of "
        f"{formats.count(len(order))} examples, most changed first. Blue: votes of {exemplars.networks.baseline}; "
        "orange: of the pruned networks; the true class is underlined."
    )
    example_set = exemplars.example_set
    labels = example_set.examples["label"].to_numpy()
    found = example_images(frame.source, example_set.spec, labels, "Everything else is")
    if found.images is None:
        show_problem(found)
    everyone = marks_of_all(frame, exemplars.example_set)
    st.html(f"<style>{EQUAL}</style>")
    with st.container(horizontal=True, gap="small"):
        for rank, example in enumerate(order[first : first + PAGE], first + 1):
            with st.container(border=True, width=WIDTH + 34, gap="xsmall", key=f"card-{rank}"):
                _show_card(frame, exemplars, int(example), rank, found.images)
                called = example_set.example_ids[int(example)]
                show_marking(frame, example_set.name, int(example), everyone, _seen(exemplars), called)
    show_credit(found)
    show_path(frame, exemplars.networks, example_set, order[first : first + PAGE], found.images)


def _show_card(frame: Frame, exemplars: Exemplars, example: int, rank: int, images: np.ndarray | None) -> None:
    example_set, divergence = exemplars.example_set, exemplars.divergence
    names, row = example_set.class_names, example_set.examples.iloc[example]
    label, name = int(row["label"]), example_set.example_ids[example]
    before, compressed = (
        votes(predicted[:, [example]], len(example_set.classes))[0]
        for predicted in (exemplars.networks.before, exemplars.networks.compressed)
    )
    alt = (
        f"Example {name}, true class {names.get(label, label)}. "
        f"{BASELINE_LABELS[exemplars.networks.kind]}: {_in_words(before, names)}. "
        f"Pruned: {_in_words(compressed, names)}."
    )
    st.image(
        vote_card(images[example] if images is not None else None, before, compressed, label, names, frame.dark),
        width=WIDTH,
        alt=alt,
    )
    groups = _groups(row, example_set)
    st.caption(
        f"**{rank}** · true **{formats.plain(names.get(label, label))}** · {divergence.taxicab[example] // 2} of "
        f"{divergence.n_models} votes moved{'' if divergence.modal[example] else ', majority as before'}  \n"
        f"{f'{groups} · ' if groups else ''}example {formats.plain(name)}"
    )


def _seen(exemplars: Exemplars) -> str:
    """Which networks were looked at, in words."""
    networks = exemplars.networks
    return formats.unmarked(f"{networks.words}, level {networks.level}, {formats.sparsity(networks.sparsity)} sparse")


def _in_words(counts: np.ndarray, names: dict[int, str]) -> str:
    order = [number for number in np.argsort(-counts, kind="stable") if counts[number]]
    return ", ".join(f"{names.get(int(number), number)} {_times(int(counts[number]))}" for number in order)


def _times(n: int) -> str:
    return "once" if n == 1 else f"{formats.count(n)} times"


def _groups(row: pd.Series, example_set: ExampleSet) -> str:
    columns = [*example_set.group_columns, *example_set.member_columns[:1]]
    kept = [c for c in dict.fromkeys(columns) if not pd.isna(row[c])]
    return ", ".join(formats.plain(group_in_words(column, str(row[column]))) for column in kept)


def gallery_table(exemplars: Exemplars, order: np.ndarray, marks: pd.DataFrame) -> pd.DataFrame:
    """One row per example that is left: labels, votes, groups, attributes, mark; for people and spreadsheets."""
    names, n_classes = exemplars.example_set.class_names, len(exemplars.example_set.classes)
    examples = exemplars.example_set.examples.iloc[order]
    ids = exemplars.example_set.example_ids[order]
    table = pd.DataFrame({"example": ids, "true class": [names.get(int(c), str(c)) for c in examples["label"]]})
    before = BASELINE_LABELS[exemplars.networks.kind].lower()
    for title, predicted in ((before, exemplars.networks.before), ("pruned", exemplars.networks.compressed)):
        counts = votes(predicted[:, order], n_classes)
        table[f"{title} votes"] = [_in_words(row, names) for row in counts]
    table["votes moved"] = exemplars.divergence.taxicab[order] // 2
    table["majority changed"] = exemplars.divergence.modal[order]
    table["votes tied"] = exemplars.divergence.tied[order]
    others = examples.drop(columns=["example", "example_id", "label"], errors="ignore").reset_index(drop=True)
    marked = marks.set_index("example")[["mark", "note", "time", "who", "model"]].reindex(order).reset_index(drop=True)
    return pd.concat([table, marked, others], axis=1)


def show_marks(frame: Frame, exemplars: Exemplars) -> None:
    """How many examples carry which mark, and all marks as a file."""
    marks = current_marks(frame, exemplars.example_set)
    counts = marks["mark"].value_counts()
    counted = ", ".join(f"{formats.count(counts.get(mark, 0))} {mark}" for mark in MARKS)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.markdown(f"**Marked so far:** {counted}." if len(marks) else "**Nothing is marked yet.**")
        st.download_button(
            "Marks as CSV",
            lambda: csv_bytes(gallery_table(exemplars, marks["example"].to_numpy(), marks)),
            f"marks-{frame.name}-{exemplars.example_set.name}.csv",
            "text/csv",
            key="marks-csv",
            disabled=marks.empty,
            on_click="ignore",
        )
        choose_name()
    show_agreement(frame, exemplars.example_set)


def _pick(label: str, options: list[str], key: str) -> str:
    return str(bound.selectbox(label, [ANY, *options], key=key, width=120))
