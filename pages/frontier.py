"""Which pruned network should we ship?"""

from functools import partial

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from engine.analysis.frontier.choice import choices_by_measure
from engine.analysis.frontier.three_objectives import techniques_on_front
from engine.analysis.groupings import CROSSED
from pages.shared import formats
from pages.shared.body import body
from pages.shared.cache.between import tally
from pages.shared.cache.kept import kept
from pages.shared.cache.points import band, by_seed_and_point, hover_texts
from pages.shared.charts.drawing import Drawing
from pages.shared.frame import Frame, open_page
from pages.shared.layout import answer, show_chart, show_rows, side_by_side
from pages.shared.names import measure_name
from pages.shared.session import candidate
from pages.views.frontier import axes, charts, side_charts, tables, words
from pages.views.frontier.answer import Answer, answer_to
from pages.views.frontier.chosen import card
from pages.views.frontier.chosen.comparison import show_comparison
from pages.views.frontier.chosen.front_table import frontier_columns
from pages.views.frontier.chosen.record import Decided
from pages.views.frontier.chosen.record_panel import show_record
from pages.views.frontier.controls import BY_THREE, Question, ask
from pages.views.frontier.optimism import optimism_of
from pages.views.frontier.sizes import show_sizes
from pages.views.frontier.space_chart import space_chart
from pages.views.frontier.sureness import WINNER_COLUMNS, winners_caption


def frontier_figure(frame: Frame, asked: Question, found: Answer, dark: bool) -> Drawing:
    """The first chart: all points, the frontier, the choice, what is pinned and what is open."""
    points, choice = asked.points, found.choice
    first, second = (candidate.pinned(frame, which) for which in candidate.KEYS)
    rings = {word: one.point for word, one in (("candidate", first), ("compared", second)) if one is not None}
    place = card.opened(points)
    if place is not None and (number := int(points["point"].iloc[place])) not in rings.values():
        rings["opened"] = number

    def made() -> Drawing:
        hovers = hover_texts(asked.between, asked.measure)
        beside = charts.Extras(
            second=found.second,
            band=band(
                (asked.between, asked.measure, *sorted(asked.limits.items()), asked.filters),
                points,
                by_seed_and_point(asked.between, asked.measure),
                choice,
            ),
            tested=asked.tested if asked.between.split != "test" else None,
            between=" x ".join(asked.between.columns),
            equal_value=found.promise is None,
            line=asked.rule != BY_THREE,
            pinned=rings,
        )
        shown = [hovers[number] for number in points["point"].tolist()]
        return charts.frontier_chart(points, choice, shown, dark, asked.scale, beside)

    return kept(frame.source, "frontier chart", (asked.key, asked.scale, dark, *rings.items()), made)


def show_answer(frame: Frame, asked: Question, found: Answer) -> None:
    """The answer in words, and the button that pins it."""
    answer(found.texts[0])
    if found.warning:
        st.warning(found.warning, icon=":material/warning:")
    if found.promise is not None:
        st.markdown(f"The promise: {words.promised_words(dict(asked.limits))}; shared by all techniques' sequences.")
    if found.stakeholders:
        st.markdown(found.stakeholders)
    says, pins = side_by_side("pin", [4, 1])
    says.markdown(found.texts[2])
    with pins:
        card.show_pin(frame, asked, found)


def show_charts(frame: Frame, asked: Question, found: Answer) -> None:
    """The frontier beside the groups, before and after."""
    points, choice, table = asked.points, found.choice, found.groups
    assert table is not None and found.front is not None
    scatter, groups = side_by_side("frontier", [2, 1])
    with scatter:
        shapes = " Circles: restart; diamonds: keep training." * (
            len({"rewind", "finetune"} & set(frame.treatments)) > 1
        )
        survivors, out = int(choice.survivors.sum()), int((~choice.survivors).sum())
        axis = axes.AXES[asked.scale].capitalize()
        show_chart(
            frontier_figure(frame, asked, found, frame.dark),
            "frontier",
            f"{axis} against {measure_name(asked.measure)} for {survivors} networks; the chosen one is starred.",
            found.front,
            selects=partial(card.open_from_chart, "frontier"),
            caption=f"Click a point for its card. {out} of {len(points)} networks miss a floor (grey dots)"
            f"{axes.beyond(points, choice, asked.scale)}. Hollow: beaten on both counts.{shapes} Band: where the "
            "frontier lies in 90 % of redraws of the training runs. Bars: 95 % intervals.",
        )
    with groups:
        word = words.between_name(asked.between.columns).lower()
        tested = asked.tested
        least = tested.loc[tested["accuracy"] >= tested["accuracy"].max() - axes.REACH / 2, "lowest"].min()
        trained = " Unpruned: the same training time." if "control" in table else ""
        most = f" The {side_charts.MOST_GROUPS} of {len(table)} that lose most." * (
            len(table) > side_charts.MOST_GROUPS
        )
        left_out = tally(asked.between.on_test()).left_out
        small = f" Left out, under 20 examples or without a value: {len(left_out)}." * bool(len(left_out))
        show_chart(
            kept(
                frame.source,
                "frontier groups",
                (asked.between.on_test(), found.number, asked.filters, frame.dark),
                lambda: side_charts.group_chart(
                    table, frame.dark, word.removesuffix("es") if word == "classes" else word, least
                ),
            ),
            "chosen-classes",
            f"Accuracy of each of the {word}, unpruned and at the chosen point.",
            table,
            caption="The largest loss is on top; in brackets, test examples. Bars: 95 % intervals over the training "
            f"runs.{trained}{most}{small}",
        )


def show_weights(frame: Frame, asked: Question, found: Answer) -> None:
    """The weights at which the choice changes; under other rules, how far each technique goes."""
    points, wins = asked.points, found.wins
    if found.promise is not None:
        st.markdown("## How far each technique keeps the promise")
        table = tables.promise_table(points, found.promise)
        show_rows(table, "promises", "How far each technique may be pruned.")
        return
    assert wins is not None
    st.markdown("## At which weights the choice changes")
    weights = [weight for weight in (asked.weight, asked.second_weight) if weight]
    middle = found.middle.place if found.middle is not None and not found.middle.agrees else None
    strip = kept(
        frame.source,
        "frontier strip",
        (asked.key, frame.dark),
        lambda: side_charts.weight_strip(wins, points, weights, frame.dark, middle),
    )
    show_chart(
        strip,
        "weights",
        "Which point wins at which weight; the mark is at the weight chosen.",
        wins,
        selects=partial(card.open_from_chart, "weights"),
    )
    if found.unbeaten is not None:
        st.markdown("## Is this technique ever Pareto-optimal?")
        pruned = (points["level"] > 0).to_numpy()
        verdicts = techniques_on_front(points[pruned], found.unbeaten[pruned])
        show_rows(tables.technique_table(verdicts), "unbeaten", "Whether each technique is ever unbeaten.")
        st.caption(
            "In sparsity, fairness and accuracy at once; no floor is set here, and the dense network does not count."
        )


def show_tables(asked: Question, found: Answer) -> None:
    """The frontier, point by point."""
    assert found.trust is not None and found.front is not None
    st.markdown("## The frontier")
    show_rows(
        found.front,
        "front-rows",
        "The points of the frontier, the chosen one first; a click on a row opens its card.",
        column_config=frontier_columns(asked.measure, found.front),
        on_select=partial(card.open_from_row, "front-rows", found.front_numbers),
        selection_mode="single-row",
    )
    if found.trust.table["reason"].any():
        st.caption("A network that was trained only once takes part with its one value, of which nobody can be sure.")


def show_sureness(found: Answer) -> DeltaGenerator:
    """How sure the choice is: against the runner-up, and who wins how often; gives the place of the last words."""
    with st.expander("How sure is this?"):
        if found.texts[1]:
            st.markdown(found.texts[1])
        if found.winners is not None:
            assert found.trust is not None
            st.markdown("## How sure the choice is")
            alt = "How often each network wins when training runs are drawn again."
            show_rows(found.winners, "winners", alt, column_config=WINNER_COLUMNS)
            st.caption(winners_caption(found.trust))
        return st.empty()


def show_measures(frame: Frame, asked: Question, found: Answer) -> None:
    """What each measure of unfairness would choose at the same weight."""

    def made() -> tuple[pd.DataFrame, str]:
        chosen = choices_by_measure(asked.points, asked.limits["accuracy"], asked.weight, allowed=found.choice.allowed)
        grouping = CROSSED.join(asked.between.columns)
        return tables.measures_table(asked.points, chosen, grouping), tables.measures_left_out(chosen, grouping)

    st.markdown("## Under other measures of unfairness")
    table, left_out = kept(frame.source, "frontier measures", asked.key, made)
    show_rows(table, "measures", "The choice under each measure.")
    apart = "Weights cannot be compared across measures; Intensification and Excessive loss gap are not in points."
    st.caption(f"{apart} {formats.plain(left_out)}")


def show_space(frame: Frame, asked: Question, found: Answer) -> None:
    """Accuracy as the third dimension, where it is asked for."""
    points = asked.points
    shown = st.toggle("Show accuracy as the third dimension", key="space", bind="query-params")
    if shown or asked.rule == BY_THREE:
        hovers = hover_texts(asked.between, asked.measure)
        space = space_chart(points, found.choice, [hovers[n] for n in points["point"].tolist()], frame.dark)
        columns = ["technique", "treatment", "level", "sparsity", "accuracy", asked.measure]
        alt = "Sparsity, unfairness and accuracy of every network."
        show_chart(space, "space-chart", alt, pd.DataFrame(points[columns]))


def decided(frame: Frame, asked: Question, found: Answer) -> Decided:
    """What a record would say: of the candidate where one of these networks is pinned, else of the recommended one."""
    pinned = candidate.pinned(frame)
    places = {int(number): place for place, number in enumerate(asked.points["point"])}
    taken = places.get(pinned.point) if pinned is not None else None
    if taken == found.choice.chosen:
        taken = None
    return Decided(
        frame,
        asked,
        found.choice,
        found.texts,
        tables.link(frame, asked),
        taken=taken,
        reason=pinned.reason if pinned is not None and taken is not None else "",
        second=found.second,
        middle=found.middle,
    )


@body
def show_page(frame: Frame) -> None:
    """The answer and what it rests on."""
    above = st.container()
    asked = ask(frame)
    found = answer_to(frame, asked)
    if found.promise is not None and found.promise.chosen is None:
        above.info(words.no_promise(asked.points, found.promise, dict(asked.limits)), icon=":material/info:")
        table = tables.promise_table(asked.points, found.promise)
        show_rows(table, "stops", "What stops each technique.")
        return
    if found.choice.chosen is None:
        above.info(words.no_choice(found.choice, asked.points), icon=":material/info:")
        return
    with above:
        show_answer(frame, asked, found)
    show_charts(frame, asked, found)
    luck = show_sureness(found)
    card.show_card(frame, asked, found)
    show_comparison(frame)
    show_weights(frame, asked, found)
    show_tables(asked, found)
    others, record = side_by_side("record", [2, 1])
    with others:
        show_measures(frame, asked, found)
    with record:
        show_record(decided(frame, asked, found))
    show_sizes(frame, asked)
    show_space(frame, asked, found)

    # Last, because halves take a moment to be counted the first time.
    luck_text = ""
    if found.promise is None:
        split, make = asked.between.split != "test", partial(optimism_of, asked, found.choice)
        optimism, members = kept(frame.source, "frontier optimism", asked.key, make)
        luck_text = words.optimism_sentence(optimism, asked.measure, split, members)
    luck.caption(" ".join(text for text in (found.texts[3], luck_text, found.caution) if text))


frame = open_page("pages/frontier.py")
show_page(frame)
