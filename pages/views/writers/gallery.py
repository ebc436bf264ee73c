"""The chosen member's images on a page, the wrong ones framed; a table where the images are not on this machine."""

import numpy as np
import pandas as pd
import streamlit as st

from pages.shared import formats
from pages.shared.cache.catalog import Source
from pages.shared.example_images import example_images, show_credit, show_problem
from pages.shared.layout import show_rows
from pages.shared.pickers import ExampleSet
from pages.views.writers import tiles
from pages.views.writers.controls import NetworkPair
from pages.views.writers.tiles import KINDS
from pages.views.writers.words import Words

MOST = 400
"""So many images are drawn at most."""

COLUMNS = 5
LEGEND = (
    "Thick orange frame: wrong only after pruning. Double pink frame: wrong before and after. "
    "Thin blue frame: wrong only before. Below a framed image: what was said before → after."
)


def show_member(
    source: Source, row: pd.Series, example_set: ExampleSet, compared: NetworkPair, of: Words, dark: bool, key: str = ""
) -> None:
    """All examples of the member in `row` (of `member_accuracy`), by class; `key` tells two on one page apart."""
    grouping = str(row.index[0])
    where = np.flatnonzero((example_set.examples[grouping] == row[grouping]).to_numpy())
    labels = example_set.examples["label"].to_numpy()
    table = tiles.member_digits(
        labels[where], compared.before[:, where], compared.after[:, where], example_set.class_names
    )
    st.markdown(summary(row, table, compared, of))
    found = example_images(source, example_set.spec, labels, "Labels and predictions are")
    if found.images is None:
        show_problem(found)
        _show_table(table.assign(example=example_set.example_ids[where]), compared, of, key)
        return
    _show_sheets(table, found.images[where], of, dark)
    show_credit(found)
    fold = st.expander("As a table", key=f"digits-fold{key}", on_change="rerun")
    if fold.open:
        with fold:
            _show_table(table.assign(example=example_set.example_ids[where]), compared, of, key)


def summary(row: pd.Series, table: pd.DataFrame, compared: NetworkPair, of: Words) -> str:
    """The member's accuracy and what became of its examples, in a sentence."""
    n = table["kind"].value_counts()
    counts = ", ".join(f"{formats.count(n[kind])} {KINDS[kind]}" for kind in KINDS if n.get(kind, 0))
    several = compared.moment.n_seeds > 1
    seeds = f" Counted by what most of the {formats.seeds(compared.moment.n_seeds)} say." if several else ""
    return (
        f"**{formats.count(row['n'])} {of.examples}, {formats.percent(row['before'])} right before and "
        f"{formats.percent(row['after'])} after pruning** ({formats.plus_minus(row['after_low'], row['after_high'])} "
        f"pt): {counts}.{seeds}"
    )


def _show_sheets(table: pd.DataFrame, images: np.ndarray, of: Words, dark: bool) -> None:
    """One sheet of tiles per class, the framed ones first."""
    st.caption(LEGEND)
    if len(table) > MOST:
        st.caption(f"The first {MOST} of {formats.count(len(table))} {of.examples} are drawn.")
    rank = table["kind"].map({kind: number for number, kind in enumerate(KINDS)})
    drawn = table.assign(rank=rank).head(MOST).sort_values(["class", "rank"], kind="stable")
    by_class = list(drawn.groupby("class"))
    columns = COLUMNS if len(by_class) > 2 else 4 * COLUMNS
    sheets, captions = [], []
    for _, rows in by_class:
        sheets.append(tiles.tile_sheet(rows, images[rows.index], columns, dark))
        captions.append(_class_words(rows))
    with st.container(horizontal=True, vertical_alignment="top", gap="small"):
        for sheet, caption in zip(sheets, captions, strict=True):
            with st.container(width=tiles.sheet_width(columns), gap="xsmall"):
                st.markdown(caption)
                st.image(sheet, width=tiles.sheet_width(columns), alt=caption)


def _class_words(rows: pd.DataFrame) -> str:
    wrong = [int(rows["kind"].isin(kinds).sum()) for kinds in (("both", "gained"), ("both", "lost"))]
    return f"**{formats.plain(rows['label'].iloc[0])}** · {len(rows)} · {wrong[0]} → {wrong[1]} wrong"


def _show_table(table: pd.DataFrame, compared: NetworkPair, of: Words, key: str) -> None:
    """Labels and predictions, the wrong ones first."""
    rank = table["kind"].map({kind: number for number, kind in enumerate(KINDS)})
    rows = table.assign(rank=rank, outcome=table["kind"].map(KINDS)).sort_values(["rank", "class"], kind="stable")
    several = compared.moment.n_seeds > 1
    shown = pd.DataFrame(
        {
            "example": rows["example"],
            "true class": rows["label"],
            "said before": rows["before"],
            "said after": rows["after"],
            "outcome": rows["outcome"],
        }
    )
    if several:
        for name in ("before", "after"):
            shown[f"runs right {name}"] = rows[f"right_{name}"].map(lambda share: formats.percent(share, 0))
    show_rows(shown, f"digits-table{key}", f"The {of.examples} one by one, wrong ones first.")
