"""Who is over-represented among the most changed examples: one attribute at a time, the most telling first."""

import numpy as np
import pandas as pd
import streamlit as st

from engine.analysis.example_columns import attribute_columns
from engine.analysis.examples.exemplars import Cut
from engine.analysis.examples.representation import representation
from pages.shared import bound, formats
from pages.shared.body import part
from pages.shared.frame import Frame
from pages.shared.layout import show_chart
from pages.shared.names import QUARTERS, column_name, group_name
from pages.views.harmed import charts
from pages.views.harmed.gallery import SHOWN, Exemplars


@part
def show_shares(frame: Frame, exemplars: Exemplars, cuts: dict[float, Cut]) -> None:
    """Who is over-represented among the examples of choice, by a column of choice."""
    heading = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        options = [name for name in SHOWN if name != "All"]
        wanted = str(bound.segmented_control("Among", options, default="Top 10 %", key="over"))
        percentile = SHOWN[wanted]
        chosen = exemplars.divergence.modal if percentile is None else cuts[percentile].listed
        if not chosen.any():
            st.info("**No example is left.** Choose a higher sparsity, or a larger share.", icon=":material/info:")
            return
        table = share_table(exemplars, chosen)
        by = list(dict.fromkeys(table["grouping"]))
        titles = {grouping: column_name(grouping) for grouping in by}
        grouping = bound.selectbox(
            "By", by, by.index(most_telling(table)), key="by", format_func=titles.__getitem__, width=260
        )
    rows = table[(table["grouping"] == grouping).to_numpy()]
    heading.markdown(f"## {share_title(rows, grouping)}")
    if grouping == "class" or grouping in exemplars.example_set.group_columns:
        note = exemplars.example_set.labels_note
        if note:
            heading.caption(note)
    against = "training" if (rows["reference"] == "training").all() else "the test set"
    show_chart(
        charts.representation_chart(rows, frame.dark),
        "over-represented",
        f"{formats.unmarked(share_title(rows, grouping))}.",
        table.drop(columns="name"),
        caption=f"Share among these examples over the share in {against}, with 95 % intervals. Orange: more or less "
        "than chance explains. Open circle: fewer than 30 examples.",
    )


def share_table(exemplars: Exemplars, chosen: np.ndarray) -> pd.DataFrame:
    """`representation` of classes, groups and quarters of attributes, with a `name` for each group."""
    example_set = exemplars.example_set
    classes, attributes = example_set.classes, attribute_columns(example_set.examples)
    in_training = dict(zip(classes["name"].astype(str), classes["n_train"], strict=True))
    table = representation(
        example_set.examples.assign(**{"class": example_set.examples["label"].map(example_set.class_names)}),
        chosen,
        ["class", *example_set.group_columns],
        attributes,
        {"class": in_training} if sum(in_training.values()) > 0 else None,
    )
    names = table["group"].astype(str).to_numpy(object, copy=True)
    for name in attributes:
        mine = (table["grouping"] == name).to_numpy()
        if mine.sum() == len(QUARTERS):
            names[mine] = QUARTERS
    table["name"] = [group_name(*named) for named in zip(table["grouping"], names, strict=True)]
    return table[table["ratio"].notna().to_numpy()].reset_index(drop=True)


def most_telling(table: pd.DataFrame) -> str:
    """The column of the group whose whole interval lies furthest above 1; the first column where none does."""
    sure = table[(table["low"] > 1) & ~table["small"]]
    return str(sure.loc[sure["low"].idxmax(), "grouping"] if len(sure) else table["grouping"].iloc[0])


def share_title(rows: pd.DataFrame, grouping: str) -> str:
    """Who of these groups is among the examples most often, beyond chance; markdown."""
    name = formats.plain(column_name(grouping))
    sure = rows[(rows["low"] > 1) & ~rows["small"]]
    if sure.empty:
        return f"By {name}, nobody is clearly over-represented among these examples"
    top = sure.loc[sure["ratio"].idxmax()]
    who = formats.plain(top["name"])
    has_own_name = group_name(grouping, str(top["group"])) != str(top["group"])
    said = f"{who[:1].upper()}{who[1:]}" if has_own_name else f"{name.capitalize()}, {who}"
    return f"{said}: {top['ratio']:.1f} times as common among these examples"
