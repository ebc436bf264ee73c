"""Which pruned network should we ship?"""

import numpy as np
import pandas as pd
import streamlit as st

from engine.analysis.frontier.choice import choices_by_measure, choose
from engine.analysis.frontier.stability import agreement
from engine.analysis.frontier.weight_ranges import change_over_weights
from engine.analysis.unfairness import UNFAIRNESS
from pages.shared.cache import catalog, extras
from pages.shared.cache.points import by_seed, by_seed_and_point, class_rows, hover_texts
from pages.shared.charts.drawing import Drawing
from pages.shared.frame import open_page
from pages.shared.layout import show_chart
from pages.shared.names import measure_name
from pages.shared.pickers import choose_axis, forget_unfit
from pages.views.frontier import charts, tables
from pages.views.frontier.decision_record import decision_html, decision_json
from pages.views.frontier.sizes import size_sentence, size_table
from pages.views.frontier.sureness import WINNER_COLUMNS, winners_caption, winners_table
from pages.views.frontier.words import choice_sentence, no_choice, stakeholder_sentence

WEIGHTS = [tables.weight_text(10 ** (step / 10)) for step in range(-20, 31)]

frame = open_page("pages/frontier.py")
points = frame.keep(catalog.operating(frame.source, frame.experiment))
seeds = by_seed(frame.source, frame.experiment)

# -- what the stakeholder wants ---------------------------------------------------------------------------------------
above = st.container()
lowest, highest = (float(np.floor(100 * points["accuracy"].min())), float(np.ceil(100 * points["accuracy"].max())))
dense = points.loc[points["level"] == 0, "accuracy"].mean()
usual = round(100 * (dense if dense == dense else points["accuracy"].max()) - 1, 1)
left, middle, right = st.columns([3, 3, 2.5], gap="medium")
forget_unfit("threshold", lambda percent: min(lowest, highest - 1) <= percent <= highest)
threshold = left.slider(
    "Accuracy at least",
    min(lowest, highest - 1),
    highest,
    min(max(usual, lowest), highest),
    0.1,
    format="%.1f %%",
    key="threshold",
    bind="query-params",
    help="Networks with a lower mean accuracy are out. It starts one point below the dense network.",
)
weight = middle.select_slider(
    "Fairness counts so many times as much as sparsity",
    WEIGHTS,
    "1",
    key="weight",
    bind="query-params",
    help="Value = sparsity − weight × unfairness. At weight 1, one point of unfairness is worth one point of sparsity.",
)
labels = {row.label: key for key, row in UNFAIRNESS.items() if points[key].notna().any()} or {"Max - min": "max_min"}
measure = labels[
    right.selectbox(
        "Unfairness",
        list(labels),
        key="measure",
        bind="query-params",
        help="\n\n".join(f"**{row.label}**: {row.help}" for row in UNFAIRNESS.values()),
    )
]
options = st.container(horizontal=True, vertical_alignment="bottom", horizontal_alignment="distribute")
with options:
    scale = choose_axis("linear")
place = options.container(width=320)
two = options.toggle(
    "Second stakeholder", key="two", bind="query-params", help="Compare with another weight.", width="content"
)
second_weight = (
    place.select_slider("The second stakeholder's weight", WEIGHTS, "100", key="weight2", bind="query-params")
    if two
    else None
)

# -- what follows from it ---------------------------------------------------------------------------------------------
choice = choose(points, threshold / 100, float(weight), measure)
second = choose(points, threshold / 100, float(second_weight), measure) if second_weight else None
if choice.chosen is None:
    above.info(no_choice(choice, points), icon=":material/info:")
    st.stop()
grid = by_seed_and_point(frame.source, frame.experiment, measure)
trust = agreement(points, seeds, choice, grid=grid)
wins = change_over_weights(points, choice, charts.WEIGHTS)
above.markdown(choice_sentence(points, choice, trust))
if second is not None:
    above.markdown(stakeholder_sentence(points, choice, second))
if caution := tables.caution(frame, points, points.iloc[choice.chosen], measure):
    above.caption(caution)

every_text = hover_texts(frame.source, frame.experiment, measure)
texts = [every_text[number] for number in points["point"].tolist()]
scatter, classes = st.columns([2, 1], gap="medium")
with scatter:
    figure = charts.frontier_chart(points, choice, texts, frame.dark, scale, second)
    kept, out = int(choice.survivors.sum()), int((~choice.survivors).sum())
    show_chart(
        figure,
        "frontier",
        f"Sparsity against {measure_name(measure)} for {kept} networks; the chosen one is starred.",
        lambda: tables.frontier_table(points, choice, wins, trust),
        caption=f"{out} of {len(points)} networks stay below the threshold and are not drawn. Faint: another one is "
        "sparser and fairer.",
    )
with classes:
    table = class_rows(frame.source, frame.experiment, int(points["point"].to_numpy()[choice.chosen]), frame.baseline)
    class_figure = charts.class_chart(table, frame.dark)
    alt = "Accuracy of each class, unpruned and at the chosen point."
    trained = " Unpruned: trained as long." if "control" in table else ""
    show_chart(class_figure, "chosen-classes", alt, table, caption=f"The class that loses most is on top.{trained}")

st.markdown("##### At which weights the choice changes")
strip = charts.weight_strip(wins, points, [float(w) for w in (weight, second_weight) if w], frame.dark)
show_chart(strip, "weights", "Which point wins at which weight; the line marks the weight chosen.", wins)

st.markdown("##### The frontier")
st.dataframe(
    tables.frontier_table(points, choice, wins, trust),
    hide_index=True,
    column_config=tables.frontier_columns(measure),
    alt="The points of the frontier, the chosen one first.",
)
if trust.table["reason"].any():
    st.caption("A network with one seed takes part with its one value; how sure it is cannot be said.")
if trust.verdict.word:
    st.markdown("##### How sure the choice is")
    st.dataframe(
        winners_table(points, grid, choice, trust),
        hide_index=True,
        column_config=WINNER_COLUMNS,
        alt="How often each network wins when seeds are drawn again.",
    )
    st.caption(winners_caption(trust))

others, record = st.columns([3, 2], gap="large")
with others:
    st.markdown("##### Under other measures of unfairness")
    st.dataframe(
        tables.measures_table(points, choices_by_measure(points, threshold / 100, float(weight))),
        hide_index=True,
        alt="The choice under each measure.",
    )
    st.caption("The weight is the same number for each; Intensification and Excessive loss gap are not in points.")
with record:
    st.markdown("##### Decision record")
    st.write("The choice with its reasons, numbers and limits, to keep or to hand on.")

    def figures() -> dict[str, Drawing]:
        """The page's charts for a record, which is light always."""
        return {
            "Sparsity and unfairness": charts.frontier_chart(points, choice, texts, False, scale, second),
            "Classes, unpruned and chosen": charts.class_chart(table, False),
        }

    name, address = f"decision-{frame.name}", tables.link(frame, choice)
    files = st.container(horizontal=True)
    files.download_button(
        "HTML, for people",
        lambda: decision_html(tables.decision(frame, points, choice, trust, address), figures()),
        f"{name}.html",
        "text/html",
        key="record-html",
    )
    files.download_button(
        "JSON, for machines",
        lambda: decision_json(tables.decision(frame, points, choice, trust, address)),
        f"{name}.json",
        "application/json",
        key="record-json",
    )

sizes = extras.sizes(frame.source, frame.experiment)
if len(sizes) and len(small := size_table(sizes, points, measure)):
    st.markdown(
        "##### Size on disk",
        help="The network's weights as a safetensors file, mean over seeds. Recorded where a technique quantizes.",
    )
    st.markdown(size_sentence(small))
    number = st.column_config.NumberColumn
    shapes = {"accuracy": number(format="%.1f %%"), "kB": number(format="%.0f"), "kB zipped": number(format="%.0f")}
    st.dataframe(small, hide_index=True, column_config=shapes, alt="Size on disk of each quantized network.")

if st.toggle("Show accuracy as the third dimension", key="space", bind="query-params"):
    space = charts.space_chart(points, choice, texts, frame.dark)
    columns = ["technique", "treatment", "level", "sparsity", "accuracy", measure]
    show_chart(
        space, "space-chart", "Sparsity, unfairness and accuracy of every network.", pd.DataFrame(points[columns])
    )
