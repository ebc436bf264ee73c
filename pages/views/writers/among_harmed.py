"""The examples of some members that pruning turns wrong: how many beside everybody's, and what they look like."""

import numpy as np
import pandas as pd
import streamlit as st

from pages.shared import formats
from pages.shared.example_images import example_images, show_credit
from pages.shared.frame import Frame
from pages.shared.layout import show_rows
from pages.shared.pickers import ExampleSet
from pages.views.writers import tiles
from pages.views.writers.controls import NetworkPair
from pages.views.writers.words import Words

MOST = 40
"""So many examples are drawn, those that most training runs lose first."""

COLUMNS = 10


def harmed_examples(example_set: ExampleSet, compared: NetworkPair) -> pd.DataFrame:
    """One row per example, in their order: what most runs said before and after, and what became of it."""
    labels = example_set.examples["label"].to_numpy()
    return tiles.member_digits(labels, compared.before, compared.after, example_set.class_names)


def show_harmed(frame: Frame, example_set: ExampleSet, every: pd.DataFrame, mine: np.ndarray, of: Words) -> None:
    """A sentence and the pictures; a table where the images are not on this machine."""
    st.markdown(f"### Their {of.examples} that pruning turns wrong")
    st.markdown(harmed_sentence(every, mine, of))
    lost = most_harmed(every, mine)
    if lost.empty:
        return
    labels = example_set.examples["label"].to_numpy()
    found = example_images(frame.source, example_set.spec, labels, "They are")
    if found.images is None:
        table = lost[["label", "before", "after"]].assign(example=example_set.example_ids[lost.index])
        names = {"label": "true class", "before": "said before", "after": "said after"}
        show_rows(table.rename(columns=names), "among-harmed", f"Their {of.examples} that turn wrong.")
        return
    st.image(
        tiles.tile_sheet(lost, found.images[lost.index], COLUMNS, frame.dark),
        width=tiles.sheet_width(COLUMNS),
        alt=f"{len(lost)} {of.examples} that turn wrong: "
        + ", ".join(f"{was} read as {now}" for was, now in zip(lost["label"], lost["after"], strict=True)),
    )
    n = int((every["kind"].to_numpy()[mine] == "lost").sum())
    some = f"The {MOST} of {formats.count(n)} that most training runs lose. " if n > len(lost) else ""
    st.caption(f"{some}Below each: what most training runs said before → after.")
    show_credit(found)


def most_harmed(every: pd.DataFrame, mine: np.ndarray) -> pd.DataFrame:
    """The examples of `mine` that turn wrong, those that most runs lose first."""
    lost = every[mine & (every["kind"] == "lost").to_numpy()]
    order = (lost["right_after"] - lost["right_before"]).sort_values(kind="stable").index
    return lost.loc[order].head(MOST)


def harmed_sentence(every: pd.DataFrame, mine: np.ndarray, of: Words) -> str:
    """How many of their examples turn wrong or right, beside everybody's; markdown."""
    kinds = every["kind"].to_numpy()
    wrong, right, n = (int(v) for v in ((kinds[mine] == "lost").sum(), (kinds[mine] == "gained").sum(), mine.sum()))
    share, all_share = (formats.percent(float(np.mean(part == "lost"))) for part in (kinds[mine], kinds))
    return (
        f"**{formats.count(wrong)} of their {formats.count(n)} {of.examples} turn wrong** ({share}; of everybody's "
        f"{all_share}), {formats.count(right)} turn right."
    )
