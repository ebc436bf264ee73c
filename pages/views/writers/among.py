"""What the networks are for some members alone: the choice of them, what they lose, how sparse they could go, and which
of their examples turn wrong."""

from dataclasses import dataclass
from html import unescape

import numpy as np
import pandas as pd
import streamlit as st

from engine.analysis.columns import VARIANT
from pages.shared import bound, formats
from pages.shared.cache import catalog, controls
from pages.shared.cache.between import Between, answered
from pages.shared.cache.kept import kept
from pages.shared.charts.drawing import Drawing
from pages.shared.charts.style import REST, SPOTLIGHT, along, axis, chart_layout, sparsity_axis
from pages.shared.frame import Frame
from pages.shared.layout import show_chart, show_rows, side_by_side
from pages.shared.names import variant_name
from pages.shared.pickers import WITHIN, ExampleSet
from pages.views.writers.among_harmed import harmed_examples, show_harmed
from pages.views.writers.controls import MemberView, NetworkPair

KEY = "among"
LEAST = 2
"""A selection of fewer is a click on one."""


@dataclass(frozen=True, eq=False)
class Losses:
    """What models lose against their baselines: tables of VARIANT, level, sparsity, and the loss of some and of all."""

    models: pd.DataFrame
    own: pd.DataFrame
    """Of the runs that are looked at."""
    classes: pd.DataFrame
    """Of the network that is looked at, at its level: class, n of theirs, the loss of some and of all."""


def select_members(key: str) -> bool:
    """Take the members that a lasso or box holds as the ones looked at; False where it holds fewer than LEAST."""
    points = st.session_state[key]["selection"]["points"]
    names = list(dict.fromkeys(unescape(point["customdata"][0]) for point in points if point.get("customdata")))
    if len(names) >= LEAST:
        st.session_state[KEY] = names
    return len(names) >= LEAST


def show_among(frame: Frame, example_set: ExampleSet, compared: NetworkPair, shown: MemberView) -> None:
    """The section for some members alone; a line on how to choose them where there are none."""
    of = shown.of
    members = formats.plain(of.members)
    st.markdown(f"## What if only some {members} counted?")
    names = sorted(map(str, shown.table[shown.grouping]))
    chosen = bound.multiselect(
        f"Only these {members}",
        names,
        default=[],
        key=KEY,
        placeholder="Draw around points of the first chart, or type",
        help=f"What this network loses of them, and how sparse a network could be if only these {members} counted.",
    )
    if len(chosen) < LEAST:
        return
    mine = example_set.examples[shown.grouping].astype(str).isin(chosen).to_numpy()
    asked = (frame.experiment, frame.baseline, compared.runs, compared.level, shown.grouping, tuple(sorted(chosen)))
    losses = kept(frame.source, "losses among", asked, lambda: _losses(frame, example_set, compared, mine))
    models, own = frame.keep(losses.models), losses.own
    st.markdown(among_sentence(own, compared.level, len(chosen), members))
    left, right = side_by_side("among", [1, 1])
    with left:
        st.markdown(f"### What these {members} lose as weights are cut")
        show_chart(
            among_chart(own, f"these {len(chosen)}", f"all {members}", frame.dark),
            "writers-among",
            f"Loss of accuracy of {len(chosen)} {of.members} and of all against sparsity.",
            own,
        )
    with right:
        st.markdown("### How sparse each technique can go within 1 point")
        show_rows(frontier_rows(models, members), "among-frontier", "Sparsest level within 1 point.")
        with st.expander("Class by class, at this sparsity"):
            st.dataframe(class_rows(losses.classes, example_set, members), hide_index=True, key="among-classes")
    every = kept(
        frame.source,
        "harmed among",
        (frame.experiment, frame.baseline, compared.runs, compared.level),
        lambda: harmed_examples(example_set, compared),
    )
    show_harmed(frame, example_set, every, mine, of)
    st.caption(f"Who is picked for losing has lost by luck in part: others like these {members} lose less.")


def sparsest_within(models: pd.DataFrame, loss: str) -> float:
    """The highest sparsity up to which every level of a model loses at most WITHIN; NaN where none does."""
    rows = models.sort_values("level")
    fine = (rows[loss] <= WITHIN).cummin()
    return float(rows["sparsity"][fine].max()) if fine.any() else np.nan


def among_sentence(own: pd.DataFrame, level: int, n: int, members: str) -> str:
    """What some members lose beside all, and how sparse the network could be for each; markdown."""
    here = own[(own["level"] == level).to_numpy()].iloc[0]
    text = (
        f"**These {formats.count(n)} {members} lose {formats.points(here['some'], sign=False)}, all {members} together "
        f"{formats.points(here['all'], sign=False)}.**"
    )
    ends = [sparsest_within(own, column) for column in ("some", "all")]
    limits = [
        "more than 1 point at every sparsity" if np.isnan(end) else f"at most 1 point up to {formats.sparsity(end)}"
        for end in ends
    ]
    if limits[0] == limits[1]:
        return f"{text} Both lose {limits[0]}."
    return f"{text} They lose {limits[0]}; all {members} lose {limits[1]}."


def among_chart(own: pd.DataFrame, some: str, every: str, dark: bool) -> Drawing:
    """The loss of some members and of all along the levels of one model, named at the ends of the lines."""
    rows = own.sort_values("level")
    x = along(rows["sparsity"].to_numpy(), "kept")
    traces, notes = [], []
    for column, name, colour, width in (("all", every, REST[dark], 2), ("some", some, SPOTLIGHT[dark], 3)):
        y = 100 * rows[column].to_numpy()
        words = [
            f"<b>{formats.chart_text(name)}</b><br>{formats.sparsity(cut)} sparsity<br>lose {loss:.1f} pt"
            for cut, loss in zip(rows["sparsity"], y, strict=True)
        ]
        traces.append(
            {"type": "scatter", "mode": "lines+markers", "x": x, "y": y, "hovertext": words, "hoverinfo": "text"}
            | {"line": {"color": colour, "width": width}, "name": formats.chart_text(name)}
        )
        notes.append({"x": np.log10(x[-1]), "y": y[-1], "text": formats.chart_text(name), "showarrow": False})
        notes[-1] |= {"xanchor": "right", "yanchor": "bottom", "font": {"color": colour, "size": 13}}
    layout = chart_layout(
        360,
        showlegend=False,
        annotations=notes,
        xaxis=sparsity_axis("kept"),
        yaxis=axis("loss of accuracy (points)", rangemode="tozero"),
    )
    return Drawing(traces, layout)


def frontier_rows(models: pd.DataFrame, members: str) -> pd.DataFrame:
    """The sparsest level within 1 point of each model, for some members and for all; the best for them first."""
    rows = []
    for key, part in models.groupby(list(VARIANT), observed=True):
        technique, treatment, mitigation = map(str, key)
        name = variant_name({"technique": technique, "treatment": treatment, "mitigation": mitigation})
        rows.append((name, sparsest_within(part, "some"), sparsest_within(part, "all")))
    table = pd.DataFrame(rows, columns=["network", "for them", f"for all {members}"])
    table = table.sort_values("for them", ascending=False, na_position="last", ignore_index=True)
    for column in table.columns[1:]:
        table[column] = ["none" if np.isnan(value) else formats.sparsity(value) for value in table[column]]
    return table


def class_rows(classes: pd.DataFrame, example_set: ExampleSet, members: str) -> pd.DataFrame:
    """What some members lose of each class beside all, the most first."""
    rows = classes.sort_values("some", ascending=False, na_position="last")
    return pd.DataFrame(
        {
            "class": [example_set.class_names.get(number, str(number)) for number in rows["class"]],
            "n of theirs": [formats.count(n) for n in rows["n"]],
            "they lose": [formats.points(value, sign=False) for value in rows["some"]],
            f"all {members} lose": [formats.points(value, sign=False) for value in rows["all"]],
        }
    )


def _losses(frame: Frame, example_set: ExampleSet, compared: NetworkPair, mine: np.ndarray) -> Losses:
    source, experiment = frame.source, frame.experiment
    pairs = controls.baselines(source, experiment, frame.baseline)
    runs = sorted({*map(str, pairs["run"]), *map(str, pairs["baseline"])})
    right: dict[tuple[str, int], tuple[float, float]] = {}
    for part in answered(Between(source, experiment, baseline=frame.baseline), runs):
        some, every = part.right[:, mine].mean(axis=1), part.right.mean(axis=1)
        right |= {(part.run, int(at)): (some[row], every[row]) for row, at in enumerate(part.levels)}
    lost = [
        np.subtract(right[str(row.baseline), int(row.baseline_level)], right[str(row.run), int(row.level)])
        for row in pairs.itertuples()
    ]
    table = pairs[["run", "level"]].assign(some=[loss[0] for loss in lost], all=[loss[1] for loss in lost])
    levels = catalog.levels(source, experiment)[["run", "level", *VARIANT, "sparsity"]]
    table = levels.astype({"run": str}).merge(table.astype({"run": str}), on=["run", "level"])
    models, own = (
        rows.groupby([*VARIANT, "level"], observed=True, as_index=False)[["sparsity", "some", "all"]].mean()
        for rows in (table, table[table["run"].isin(compared.runs)])
    )
    label = example_set.examples["label"].to_numpy()
    change = (compared.before == label).mean(axis=0) - (compared.after == label).mean(axis=0)
    every = pd.Series(change).groupby(label).mean()
    theirs = pd.Series(change[mine]).groupby(label[mine]).agg(["mean", "size"]).reindex(every.index)
    classes = pd.DataFrame(
        {
            "class": every.index.astype(int),
            "n": theirs["size"].fillna(0).astype(int).to_numpy(),
            "some": theirs["mean"].to_numpy(),
            "all": every.to_numpy(),
        }
    )
    return Losses(models, own, classes)
