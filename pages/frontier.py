"""Which pruned network should we ship?"""

from dataclasses import replace

import pandas as pd
import streamlit as st

from engine.analysis.curves.baseline import compared
from engine.analysis.frontier.choice import Choice, choices_by_measure, choose
from engine.analysis.frontier.floors import allowed
from engine.analysis.frontier.promised_points import PromisedPoints, promised_points
from engine.analysis.frontier.stability import agreement
from engine.analysis.frontier.three_objectives import pareto_front_3d, techniques_on_front
from engine.analysis.frontier.weight_ranges import change_over_weights
from pages.shared.cache import extras
from pages.shared.cache.between import tally
from pages.shared.cache.points import band, by_seed, by_seed_and_point, group_means, group_rows, hover_texts, payers
from pages.shared.charts.drawing import Drawing
from pages.shared.frame import open_page
from pages.shared.layout import answer, show_chart
from pages.shared.names import measure_name
from pages.views.frontier import charts, side_charts, tables, words
from pages.views.frontier.controls import BY_PROMISE, BY_THREE, Question, ask
from pages.views.frontier.decision_record import decision_html, decision_json
from pages.views.frontier.optimism import optimism_of
from pages.views.frontier.payers import payer_sentence, warning_sentence
from pages.views.frontier.sizes import size_sentence, size_table
from pages.views.frontier.space_chart import space_chart
from pages.views.frontier.sureness import WINNER_COLUMNS, winners_caption, winners_table


def promised(asked: Question) -> PromisedPoints:
    """What learn-then-test allows of the points, by what chooses."""
    means = compared(group_means(asked.between), frame.baseline)
    names = tally(asked.between).names
    means = means.assign(name=[names.get(int(n), str(n)) for n in means["class"]])
    return promised_points(asked.points, means, asked.limits, asked.risk)


def chosen_at(asked: Question, weight: float) -> Choice:
    """The choice at this weight."""
    points = asked.points
    return choose(points, asked.limits["accuracy"], weight, asked.measure, allowed(points, asked.group_limits))


frame = open_page("pages/frontier.py")
above = st.container()
asked = ask(frame)
points, tested, measure = asked.points, asked.tested, asked.measure

# -- what follows from it ---------------------------------------------------------------------------------------------
choice = chosen_at(asked, asked.weight)
promise = promised(asked) if asked.rule == BY_PROMISE else None
if promise is not None:
    if promise.chosen is None:
        above.info(words.no_promise(points, promise, dict(asked.limits)), icon=":material/info:")
        st.dataframe(tables.promise_table(points, promise), hide_index=True, alt="What stops each technique.")
        st.stop()
    choice = replace(choice, chosen=promise.chosen, twins=(), runner_up=None, against_runner_up=None)
if choice.chosen is None:
    above.info(words.no_choice(choice, points), icon=":material/info:")
    st.stop()
second = chosen_at(asked, asked.second_weight) if asked.second_weight and promise is None else None
grid = by_seed_and_point(asked.between, measure)
trust = agreement(points, by_seed(asked.between), choice, grid=grid)
wins = change_over_weights(points, choice, side_charts.WEIGHTS)
winners = winners_table(points, grid, choice, trust) if trust.verdict.word and promise is None else None
if asked.rule == BY_THREE:
    unbeaten = pareto_front_3d(points["sparsity"], points[measure], points["accuracy"])
    choice = replace(choice, frontier=unbeaten & choice.survivors)
number = int(points["point"].to_numpy()[choice.chosen])
paying = payers(asked.between, number, frame.baseline)
said = (
    words.choice_sentence(points, tested, choice, trust)
    if promise is None
    else words.promise_sentence(points, tested, choice, asked.risk)
)
texts = [said, words.against_sentence(points, choice, trust) if promise is None else "", payer_sentence(paying)]
texts.append(words.seed_sentence(points, choice, trust) if promise is None else "")
caution = tables.caution(frame, tested, tested.iloc[choice.chosen], measure)
with above:
    answer(said)
    if warned := warning_sentence(paying, asked.between, asked.warning):
        st.warning(warned, icon=":material/warning:")
    if promise is not None:
        st.markdown(f"The promise: {words.promised_words(dict(asked.limits))}; shared by all techniques' sequences.")
    if second is not None:
        st.markdown(words.stakeholder_sentence(points, choice, second))
    for text in texts[1:3]:
        if text:
            st.markdown(text)
    luck = st.empty()

hovers = hover_texts(asked.between, measure)
shown = [hovers[place] for place in points["point"].tolist()]
on = (frame.techniques, frame.treatments)
beside = charts.Extras(
    second=second,
    band=band((asked.between, measure, *sorted(asked.limits.items()), *on, frame.baseline), points, grid, choice),
    tested=tested if asked.between.split != "test" else None,
    between=" x ".join(asked.between.columns),
    equal_value=promise is None,
    line=asked.rule != BY_THREE,
)
scatter, groups = st.container(key="beside-frontier").columns([2, 1], gap="medium")
with scatter:
    shapes = " Circles: rewind; diamonds: finetune." * (len({"rewind", "finetune"} & set(frame.treatments)) > 1)
    kept, out = int(choice.survivors.sum()), int((~choice.survivors).sum())
    show_chart(
        charts.frontier_chart(points, choice, shown, frame.dark, asked.scale, beside),
        "frontier",
        f"Sparsity against {measure_name(measure)} for {kept} networks; the chosen one is starred.",
        lambda: tables.frontier_table(points, choice, wins, trust),
        caption=f"{out} of {len(points)} networks break a floor (small grey dots){charts.beyond(points, choice)}. "
        f"Hollow: beaten on both counts.{shapes} Band: 90 % of frontiers with redrawn seeds; whiskers: 95 %.",
    )
with groups:
    table = group_rows(asked.between.on_test(), number, frame.baseline)
    word = words.between_name(asked.between.columns).lower()
    least = tested.loc[tested["accuracy"] >= tested["accuracy"].max() - charts.REACH, "lowest"].min()
    trained = " Unpruned: the same training time." if "control" in table else ""
    most = f" The {side_charts.MOST_GROUPS} of {len(table)} that lose most." * (len(table) > side_charts.MOST_GROUPS)
    left_out = tally(asked.between.on_test()).left_out
    small = f" Left out, under 20 examples or without a value: {len(left_out)}." * bool(len(left_out))
    show_chart(
        side_charts.group_chart(table, frame.dark, word.removesuffix("es") if word == "classes" else word, least),
        "chosen-classes",
        f"Accuracy of each of the {word}, unpruned and at the chosen point.",
        table,
        caption=f"Who loses most is on top, with test examples; whiskers: 95 % over seeds.{trained}{most}{small}",
    )

if promise is None:
    st.markdown("##### At which weights the choice changes")
    weights = [weight for weight in (asked.weight, asked.second_weight) if weight]
    strip = side_charts.weight_strip(wins, points, weights, frame.dark)
    show_chart(strip, "weights", "Which point wins at which weight; the mark is at the weight chosen.", wins)
else:
    st.markdown("##### How far each technique keeps the promise")
    st.dataframe(tables.promise_table(points, promise), hide_index=True, alt="How far each technique may be pruned.")
if asked.rule == BY_THREE:
    st.markdown("##### Is this technique ever Pareto-optimal?")
    verdicts = techniques_on_front(points[points["level"] > 0], unbeaten[(points["level"] > 0).to_numpy()])
    st.dataframe(tables.technique_table(verdicts), hide_index=True, alt="Whether each technique is ever unbeaten.")
    st.caption(
        "In sparsity, fairness and accuracy at once; no floor is set here, and the dense network does not count."
    )

st.markdown("##### The frontier")
st.dataframe(
    tables.frontier_table(points, choice, wins, trust),
    hide_index=True,
    column_config=tables.frontier_columns(measure),
    alt="The points of the frontier, the chosen one first.",
)
if trust.table["reason"].any():
    st.caption("A network with one seed takes part with its one value; how sure it is cannot be said.")
if winners is not None:
    st.markdown("##### How sure the choice is")
    st.dataframe(
        winners,
        hide_index=True,
        column_config=WINNER_COLUMNS,
        alt="How often each network wins when seeds are drawn again.",
    )
    st.caption(winners_caption(trust))

others, record = st.columns([3, 2], gap="large")
with others:
    st.markdown("##### Under other measures of unfairness")
    by_measure = choices_by_measure(points, asked.limits["accuracy"], asked.weight, allowed=choice.allowed)
    st.dataframe(tables.measures_table(points, by_measure), hide_index=True, alt="The choice under each measure.")
    st.caption("Weights cannot be compared across measures; Intensification and Excessive loss gap are not in points.")
with record:
    st.markdown("##### Decision record")
    st.write("The choice with its reasons, numbers and limits, to keep or to hand on.")

    def figures() -> dict[str, Drawing]:
        """The page's charts for a record, which is light always."""
        return {
            "Sparsity and unfairness": charts.frontier_chart(points, choice, shown, False, asked.scale, beside),
            f"{words.between_name(asked.between.columns)}, unpruned and chosen": side_charts.group_chart(table, False),
        }

    name, address = f"decision-{frame.name}", tables.link(frame, asked)
    files = st.container(horizontal=True)
    files.download_button(
        "HTML, for people",
        lambda: decision_html(tables.decision(frame, asked, choice, texts, address), figures()),
        f"{name}.html",
        "text/html",
        key="record-html",
    )
    files.download_button(
        "JSON, for machines",
        lambda: decision_json(tables.decision(frame, asked, choice, texts, address)),
        f"{name}.json",
        "application/json",
        key="record-json",
    )

sizes = extras.sizes(frame.source, frame.experiment)
if len(sizes) and len(small_files := size_table(sizes, points, measure)):
    st.markdown(
        "##### Size on disk",
        help="The network's weights as a safetensors file, mean over seeds. Recorded where a technique quantizes.",
    )
    st.markdown(size_sentence(small_files))
    column = st.column_config.NumberColumn
    looks = {"accuracy": column(format="%.1f %%"), "kB": column(format="%.0f"), "kB zipped": column(format="%.0f")}
    st.dataframe(small_files, hide_index=True, column_config=looks, alt="Size on disk of each quantized network.")

if st.toggle("Show accuracy as the third dimension", key="space", bind="query-params") or asked.rule == BY_THREE:
    space = space_chart(points, choice, shown, frame.dark)
    columns = ["technique", "treatment", "level", "sparsity", "accuracy", measure]
    show_chart(
        space, "space-chart", "Sparsity, unfairness and accuracy of every network.", pd.DataFrame(points[columns])
    )

# Last, because halves take a moment to be counted the first time.
found, members = optimism_of(asked, choice) if promise is None else (None, "")
luck_text = words.optimism_sentence(found, measure, asked.between.split != "test", members) if promise is None else ""
luck.caption(" ".join(text for text in (texts[3], luck_text, caution) if text))
