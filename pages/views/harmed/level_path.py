"""One example through all levels: its votes from the dense networks to the sparsest ones, as bars and a sentence."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import streamlit as st

from engine.analysis.examples.exemplars import votes
from engine.analysis.examples.vote_path import Stretch, usual_path
from pages.shared import bound, formats
from pages.shared.body import part
from pages.shared.cache.catalog import predictions
from pages.shared.charts.drawing import Drawing
from pages.shared.charts.hover import hover
from pages.shared.charts.style import axis, chart_layout
from pages.shared.frame import Frame
from pages.shared.layout import show_chart
from pages.shared.pickers import ExampleSet, Populations
from pages.views.harmed.vote_card import SIDE, picture_of

TRUE, OTHERS = "#0072B2", ("#D55E00", "#E69F00", "#CC79A7")
"""Colours of the true class and of the others with most votes; what is left is grey."""

REST = "#7F7F7F"
MOST_STRETCHES = 3
"""A sentence that names more of them cannot be read."""


@part
def show_path(
    frame: Frame, networks: Populations, example_set: ExampleSet, shown: np.ndarray, images: np.ndarray | None
) -> None:
    """Follow one of the examples on this page of the gallery from dense to the sparsest level."""
    names, labels = example_set.class_names, example_set.examples["label"].to_numpy()
    options = {f"{example_set.example_ids[e]}": int(e) for e in shown}
    asked = st.container(horizontal=True, vertical_alignment="center")
    chosen = bound.selectbox(
        "Follow an example through all levels", list(options), key="follow", width=300, where=asked
    )
    example = options[chosen]
    if images is not None:
        asked.image(picture_of(images[example], frame.dark), width=SIDE, alt=f"Example {chosen}.")
    levels, counts = level_votes(frame, networks.runs, example, len(example_set.classes))
    sparsity = {0: 0.0} | {int(level): float(value) for level, value in networks.by_level.items()}
    levels, counts = [level for level in levels if level in sparsity], counts[[level in sparsity for level in levels]]
    label = int(labels[example])
    st.markdown(f"## {path_sentence(usual_path(counts, levels), label, names, sparsity)}")
    show_chart(
        path_chart(levels, counts, label, names, sparsity),
        "level-path",
        formats.unmarked(path_sentence(usual_path(counts, levels), label, names, sparsity)),
        path_table(levels, counts, names, sparsity),
        caption=f"Votes of {formats.seeds(counts[0].sum())} at each level, dense on the left.",
    )


def level_votes(frame: Frame, runs: tuple[str, ...], example: int, n_classes: int) -> tuple[list[int], np.ndarray]:
    """The levels that all runs have, and the votes for the example's label at each: (n_levels, n_classes)."""
    said = [predictions(frame.source, run) for run in runs]
    levels = sorted(set.intersection(*(set(map(int, at)) for at, _ in said)))
    answers = np.stack([matrix[np.searchsorted(at, levels), example] for at, matrix in said])
    return levels, votes(answers, n_classes)


def path_sentence(path: list[Stretch], label: int, names: Mapping[int, str], sparsity: Mapping[int, float]) -> str:
    """What most networks read in the example and until where; markdown."""

    def name(number: int) -> str:
        return f"{formats.plain(names.get(number, number))}{' (right)' if number == label else ''}"

    if len(path) == 1:
        return f"Read as {name(path[0].label)} at every level"
    if len(path) > MOST_STRETCHES:
        return (
            f"Read as {name(path[0].label)} when dense and as {name(path[-1].label)} at "
            f"{formats.sparsity(sparsity[path[-1].last])} sparsity, changing {len(path) - 1} times on the way"
        )
    parts = [f"as {name(one.label)} until {formats.sparsity(sparsity[one.last])}" for one in path[:-1]]
    parts[0] = parts[0] if path[0].last else f"as {name(path[0].label)} when dense"
    return f"Read {', then '.join(parts)}, then as {name(path[-1].label)}"


def path_chart(
    levels: list[int], counts: np.ndarray, label: int, names: Mapping[int, str], sparsity: Mapping[int, float]
) -> Drawing:
    """Votes at every level, stacked: the true class at the bottom, then the most frequent others, the rest in grey."""
    total = counts.sum(axis=0)
    others = [int(c) for c in np.argsort(-total, kind="stable") if total[c] and c != label]
    shown = {label: TRUE} | dict(zip(others, OTHERS, strict=False))
    rest = counts[:, [c for c in others if c not in shown]].sum(axis=1)
    where = ["dense" if not level else formats.sparsity(sparsity[level]) for level in levels]
    layers = [
        (f"{names.get(c, c)}{' (true)' if c == label else ''}", counts[:, c], colour) for c, colour in shown.items()
    ]
    layers += [("others", rest, REST)] if rest.any() else []
    traces = [
        {
            "type": "bar",
            "x": where,
            "y": height.astype(float),
            "name": formats.chart_text(name),
            "marker": {"color": colour},
            **hover("<b>{title}</b>: {n:.0f} votes<br>{text}", formats.chart_text(name), where, n=height),
        }
        for name, height, colour in layers
    ]
    layout = chart_layout(
        300, barmode="stack", bargap=0.08, xaxis=axis("sparsity", type="category"), yaxis=axis("votes", dtick=None)
    )
    return Drawing([trace | {"textposition": "none"} for trace in traces], layout)


def path_table(
    levels: list[int], counts: np.ndarray, names: Mapping[int, str], sparsity: Mapping[int, float]
) -> pd.DataFrame:
    """Votes by level, a column for every class that gets one."""
    table = pd.DataFrame({"level": levels, "sparsity": [sparsity[level] for level in levels]})
    for number in np.flatnonzero(counts.any(axis=0)):
        table[str(names.get(int(number), number))] = counts[:, number]
    return table
