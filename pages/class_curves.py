"""Which classes fall first?"""

import streamlit as st

from engine.analysis.columns import VARIANT, is_mitigated
from engine.analysis.curves.baseline import CONTROL, compared
from engine.analysis.curves.first_to_fall import first_fall, first_falls
from engine.analysis.curves.worst_classes import worst_classes
from engine.analysis.unfairness import UNFAIRNESS, unfairness_reason
from engine.errors import PruneScopeError
from engine.pruning.schedules import TREATMENTS
from engine.pruning.techniques import TECHNIQUES
from pages.shared import bound, formats
from pages.shared.body import body, part
from pages.shared.cache import catalog, controls, points
from pages.shared.cache.between import Between
from pages.shared.cache.kept import kept
from pages.shared.charts.class_look import ClassLook
from pages.shared.charts.drawing import Drawing
from pages.shared.frame import Frame, open_page
from pages.shared.layout import answer, show_chart, side_by_side
from pages.shared.names import arm_name, explained, technique_name, treatment_name, treatment_phrase, variant_name
from pages.shared.pickers import choose_axis, distinct
from pages.shared.session.candidate import opening_index, opening_value
from pages.shared.training_note import training_of
from pages.views.class_curves import charts, words
from pages.views.class_curves.technique_charts import Look, total_chart, unfairness_chart

SEEDS = ("average", "bands", "each run")
FIRST = "first to fall"


@body
def show_page(frame: Frame) -> None:
    """The answer and what it rests on."""
    source, of = frame.source, (frame.experiment, frame.techniques, frame.treatments, frame.baseline)
    every, totals = kept(
        source,
        "class curves",
        of,
        lambda: [
            frame.keep(compared(rows(source, frame.experiment), frame.baseline))
            for rows in (controls.classes_with_controls, controls.totals_with_controls)
        ],
    )
    names = frame.class_names
    above = st.container()

    # -- which model, and how it is drawn ------------------------------------------------------------------------------
    with st.container(horizontal=True, gap="medium"):
        techniques = {technique_name(key): key for key in frame.techniques if (every["technique"] == key).any()}
        first = {name: opening_value(frame, name) for name in VARIANT}
        at = opening_index(list(techniques.values()), first["technique"])
        options = list(techniques)
        label = bound.selectbox(
            "Technique", options, at, key="technique", help=explained(TECHNIQUES, techniques.values()), width=180
        )
        technique, shown = techniques[label], every[every["technique"] == techniques[label]]
        ways = {treatment_name(key): key for key in frame.treatments if (shown["treatment"] == key).any()}
        at = opening_index(list(ways.values()), first["treatment"])
        label = bound.selectbox(
            "After each cut", list(ways), at, key="treatment", help=explained(TREATMENTS, ways.values()), width=150
        )
        treatment, shown = ways[label], shown[shown["treatment"] == ways[label]]
        mitigations = sorted(map(str, shown["mitigation"].unique()), key=lambda name: (is_mitigated(name), name))
        if len(mitigations) > 1:
            arms = distinct(mitigations, arm_name)
            at = opening_index(mitigations, first["mitigation"])
            old = {arm: label for label, arm in arms.items()}
            label = bound.selectbox("Mitigation", list(arms), at, key="mitigation", old=old, width=200)
            shown = shown[shown["mitigation"] == arms[label]]
        mitigation = str(shown["mitigation"].iloc[0])
        numbers = {names.get(int(number), str(number)): int(number) for number in shown["class"].unique()}
        label = bound.selectbox(
            "Spotlight",
            [FIRST, *numbers],
            key="spotlight",
            help="The class that is drawn in colour; with three training runs or more, with its band.",
            width=130,
        )
        model = (*of, technique, treatment, mitigation)
        fall = kept(source, "first fall", model, lambda: first_fall(shown))
        spotlight = numbers.get(label, words.in_spotlight(shown, fall))
        scale = choose_axis("kept")
        seeds = bound.segmented_control(
            "Training runs",
            SEEDS,
            default="average",
            key="seeds",
            help="Bands are 95 % intervals of the average of the runs; one run has none.",
        )
    bands = seeds == "bands"
    totals = totals[totals["mitigation"] == mitigation]
    of_model = totals[(totals["technique"] == technique) & (totals["treatment"] == treatment)]
    models, classes = (
        rows[
            (
                (rows["technique"] == technique) & (rows["treatment"] == treatment) & (rows["mitigation"] == mitigation)
            ).to_numpy()
        ]
        for rows in (
            catalog.levels(frame.source, frame.experiment),
            controls.classes_beside_baselines(frame.source, frame.experiment, frame.baseline),
        )
    )
    dense = shown[shown["level"] == 0].set_index("class")["accuracy"].reindex(shown["class"].unique())
    look = ClassLook(names, {int(k): float(v) for k, v in dense.items()}, scale, frame.dark)

    with above:
        answer(kept(source, "fall", model, lambda: words.fall_sentence(shown, fall, of_model, names)))
        level = int(shown["level"].max() if fall is None else fall["level"])
        training = kept(source, "fall training", model, lambda: training_of(source, frame.experiment, models, level))
        if details := kept(
            source, "fall details", model, lambda: words.fall_details(shown, fall, names, first_falls(classes))
        ):
            with st.expander("How sure is this?"):
                st.markdown(details)
                if training:
                    st.markdown(f"Level {level}: {training}")
    low, high = look.span
    looks = (scale, frame.dark)

    # -- the classes ---------------------------------------------------------------------------------------------------
    wide, narrow = side_by_side("classes", [7, 3])
    with wide:
        lowest = words.lowest_class(shown)
        title = kept(source, "curves title", model, lambda: words.curves_title(shown, lowest, names))
        st.markdown(f"## {title}")
        st.caption(kept(source, "curves subtitle", model, lambda: words.curves_subtitle(shown)))
        drawn = shown
        if seeds == "each run":
            drawn = classes.rename(columns={"before": "dense_accuracy"}).assign(controlled=classes["kind"] == CONTROL)

        def class_figure() -> Drawing:
            if seeds == "each run":
                return charts.seed_chart(drawn, look, spotlight, lowest)
            return charts.class_chart(drawn, look, spotlight, bands, lowest)

        show_chart(
            kept(source, "curves", (model, looks, seeds, spotlight), class_figure),
            "class-curves",
            f"{formats.unmarked(title)}: accuracy of each class against sparsity with {variant_name(shown.iloc[0])}.",
            lambda: words.curve_table(drawn, names),
            caption=words.curves_key(spotlight, lowest, names),
        )
    with narrow:
        st.markdown(
            "## Training examples",
            help="Of the training split; the share held out for validation is among them.",
        )
        try:
            facts = catalog.class_facts(frame.source, catalog.example_set(frame.source, frame.experiment))
            if not facts["n_train"].sum():
                raise PruneScopeError("the file does not say how many examples of each class were trained on.")
            show_chart(
                kept(source, "class sizes", (model, looks), lambda: charts.class_histogram(facts, look)),
                "class-histogram",
                "Number of training examples of each class, in the colours of the curves.",
                facts,
                caption="Colour: accuracy before pruning; the best class is on top." if high > low else "",
            )
        except PruneScopeError as error:
            st.info(formats.plain(f"The class sizes are not known: {error}"), icon=":material/info:")

    # -- the techniques ------------------------------------------------------------------------------------------------
    same_way = every[((every["treatment"] == treatment) & (every["mitigation"] == mitigation)).to_numpy()]
    pruned = set(same_way.loc[(same_way["sparsity"] > 0).to_numpy(), "technique"].astype(str))
    others = [key for key in frame.techniques if key in pruned]
    if len(others) > 1:
        way = (*of, treatment, mitigation)
        title = kept(source, "panels title", way, lambda: words.panels_title(same_way, others))
        st.markdown(f"## {title}")
        st.caption(f"Accuracy of each class under each technique {formats.plain(treatment_phrase(treatment))}.")
        show_chart(
            kept(
                source,
                "panels",
                (way, looks, spotlight),
                lambda: charts.technique_panels(same_way, look, others, spotlight),
            ),
            "class-multiples",
            f"Class accuracy against sparsity for {len(others)} techniques on the same axes.",
            lambda: words.technique_table(same_way),
            caption=f"Averages of the training runs. {words.panels_key(spotlight, names)}",
        )

    @part
    def show_totals() -> None:
        """Total accuracy beside unfairness, in a measure of choice."""
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
            st.markdown("## Accuracy and fairness of each technique", width="content")
            measures = {row.label: key for key, row in UNFAIRNESS.items()}
            label = bound.selectbox(
                "Unfairness measured as",
                list(measures),
                key="measure",
                help="\n\n".join(f"**{row.label}**: {row.help}" for row in UNFAIRNESS.values()),
                width=220,
            )
        left, right = side_by_side("techniques", [1, 1])
        lines = Look(look, bands, technique)
        with left:

            def total_figure() -> Drawing:
                return total_chart(totals, worst_classes(every[every["mitigation"] == mitigation]), lines)

            show_chart(
                kept(source, "totals", (of, mitigation, looks, bands, technique), total_figure),
                "total-accuracy",
                f"Accuracy against sparsity of {len(totals.drop_duplicates(['technique', 'treatment']))} techniques.",
                lambda: words.technique_table(totals),
                caption="Accuracy on all examples. Thick: the technique chosen above. A steady total may hide a class "
                "that falls.",
            )
        with right:
            measure = measures[label]
            between = Between(frame.source, frame.experiment, baseline=frame.baseline)
            gaps = frame.keep(points.unfairness_means(between, measure))
            gaps = gaps[gaps["mitigation"] == mitigation]
            if gaps["unfairness"].isna().all():
                reason = unfairness_reason(points.unfairness(between).iloc[-1], measure)
                st.info(f"**{label} cannot be computed**: {reason}.", icon=":material/info:")
            else:
                show_chart(
                    kept(
                        source,
                        "gaps",
                        (of, mitigation, measure, looks, bands, technique),
                        lambda: unfairness_chart(gaps, measure, lines),
                    ),
                    "unfairness",
                    f"{label} against sparsity by technique.",
                    lambda: words.technique_table(gaps),
                    caption=f"{UNFAIRNESS[measure].help}{words.beyond(gaps, measure)}",
                )

    show_totals()


frame = open_page("pages/class_curves.py")
show_page(frame)
