"""Which classes lose, all else equal?"""

import streamlit as st

from engine.analysis.regression.least_squares import LINKS
from engine.analysis.regression.regression_table import regression_table
from engine.analysis.regression.standard_errors import ERRORS
from engine.analysis.regression.terms import PAPER, PLAIN, TERMS
from engine.errors import PruneScopeError
from pages.shared import bound, formats
from pages.shared.body import body, part
from pages.shared.cache import catalog, models
from pages.shared.cache.kept import kept
from pages.shared.frame import Frame, open_page
from pages.shared.layout import answer, show_chart, show_table, side_by_side
from pages.views.regression import charts, coefficients, words
from pages.views.regression.command import RegressionQuery, command

SCOPES = {"experiment": "This experiment", "protocol": "Its protocol", "study": "Whole study"}
MODELS = {"paper": "Paper's", "plain": "Plain", "own": "My own"}


@body
def show_page(frame: Frame) -> None:
    """The answer and what it rests on."""
    above = st.container()

    # -- what is fitted ------------------------------------------------------------------------------------------------
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        scope = bound.segmented_control(
            "Runs",
            list(SCOPES),
            default="protocol",
            format_func=SCOPES.__getitem__,
            key="runs",
            help="This experiment: the data set, network and protocol on the left. Its protocol: all data sets and "
            "networks of the study that went through the same protocol. Techniques and treatments that are switched "
            "off on the left stay out.",
        )
        model = bound.segmented_control(
            "Terms",
            list(MODELS),
            default="paper",
            format_func=MODELS.__getitem__,
            key="model",
            help="Paper's: Paganini's model with its cross terms. Plain: the same without them. My own: pick from a "
            "list.",
        )
        link = bound.segmented_control(
            "Fit",
            list(LINKS),
            default="linear",
            format_func={"linear": "Linear", "logit": "Logit"}.__getitem__,
            key="fit",
            help="Linear: ordinary least squares, as in the paper. Logit: a fractional logit, which keeps accuracies "
            "within 0 and 100 %, as the paper's limits section asks.",
        )
        errors = bound.segmented_control(
            "Errors",
            list(ERRORS),
            default="hac",
            format_func=lambda key: ERRORS[key].label,
            key="errors",
            help="\n\n".join(f"**{row.label}**: {row.help}" for row in ERRORS.values()),
        )
        collapsed = st.toggle(
            "Collapsed networks",
            value=True,
            key="collapsed",
            bind="query-params",
            help="Off: leaves out networks that are right at most 1.5 times as often as guessing; their classes "
            "differ by which one they still name.",
        )
    terms = PAPER if model == "paper" else PLAIN
    if model == "own":
        labels = {row.label: key for key, row in TERMS.items()}
        picked = bound.multiselect(
            "Terms of my own",
            list(labels),
            default=[TERMS[key].label for key in PLAIN],
            key="terms",
            help="A cross term (×) brings its two parts along.",
        )
        terms = tuple(labels[label] for label in picked)

    rows = catalog.levels(frame.source, frame.experiment)
    recorded = {*map(str, rows["technique"].cat.categories), *map(str, rows["treatment"].cat.categories)}
    off = tuple(sorted(recorded - {*frame.techniques, *frame.treatments}))
    try:
        runs = (frame.experiment, scope, off, collapsed)
        regression = models.fitted(frame.source, runs, terms, link, errors)
    except PruneScopeError as error:
        above.info(f"**Nothing can be fitted.** {formats.plain(error)}", icon=":material/info:")
        st.stop()

    fit = (runs, terms, link, errors)

    # -- the answer ----------------------------------------------------------------------------------------------------
    with above:
        answer(kept(frame.source, "answer", fit, lambda: words.answer_sentence(regression)))
        with st.expander("How sure is this?"):
            st.markdown(kept(frame.source, "what", fit, lambda: words.effects_sentence(regression)))
            st.markdown(kept(frame.source, "details", fit, lambda: words.detail_sentences(regression)))
            for caution in regression.cautions:
                st.caption(f":material/warning: {formats.plain(caution)}")
            for kind, reason in regression.no_errors.items():
                st.caption(f":material/warning: There are no errors {ERRORS[kind].in_words}: {reason}.")

    left, right = side_by_side("coefficients", [4, 5])
    with right:
        st.markdown(
            "## In words",
            help="How accuracy changes when one thing changes and the rest stays, averaged over the runs above. Cross "
            "terms share one thing among many coefficients; these numbers add them up.",
        )
        in_words = kept(frame.source, "effects", fit, lambda: words.effect_table(regression))
        if len(in_words):
            show_table(
                in_words,
                "effects",
                "Every effect in words, with half intervals by four kinds of errors, and what the paper found.",
            )
        st.caption(
            "Half of the 95 % interval in points, by four kinds of errors; *in italics* where the effect may be "
            "chance. Classes of one run share its network, and classes recur in all runs, so the widest is the one to "
            f"believe. Paper: Paganini 2020, {formats.count(words.PUBLISHED_ROWS)} rows, HAC."
        )
        if text := words.without_sentence(regression):
            st.markdown(text)
            with st.expander("Without each class"):
                st.dataframe(
                    words.without_table(regression),
                    hide_index=True,
                    key="without-class",
                    alt="The effects of facts about classes when the rows of one class are left out, largest change "
                    "first.",
                )
    with left:

        @part
        def show_coefficients() -> None:
            """Coefficients of groups of choice."""
            counts = coefficients.groups_of(regression)
            with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
                st.markdown("## Coefficients", width="content")
                scale = bound.segmented_control(
                    "Scale",
                    ["compared", "fitted"],
                    default="compared",
                    format_func={"compared": "per standard deviation", "fitted": "as fitted"}.__getitem__,
                    key="scale",
                    label_visibility="collapsed",
                )
            groups = bound.pills(
                "Groups",
                list(counts),
                default=coefficients.first_groups(counts),
                key="groups",
                label_visibility="collapsed",
            )
            other = "run" if errors != "run" else "hac"
            compared = scale == "compared"
            chosen, second = (
                coefficients.coefficient_table(regression, kind, groups or list(counts), compared)
                for kind in (errors, other)
            )
            unit = "accuracy" if link == "linear" else "log odds of accuracy"
            if len(chosen):
                show_chart(
                    charts.coefficient_chart(
                        chosen,
                        second,
                        charts.Look(
                            ERRORS[errors].in_words,
                            ERRORS[other].in_words,
                            f"{unit} per {'standard deviation' if compared else 'unit'}",
                            frame.dark,
                        ),
                    ),
                    "coefficients",
                    f"{len(chosen)} coefficients with 95 % intervals ({ERRORS[errors].in_words}; "
                    f"{ERRORS[other].in_words}).",
                    chosen.drop(columns=["text", "group"]),
                    caption=coefficients.chart_caption(regression, compared),
                )
            else:
                st.info(
                    "**No term is left but the intercept.** Choose other terms or more runs.", icon=":material/info:"
                )
            for sentence in coefficients.left_out_sentences(regression):
                st.caption(formats.plain(sentence))

        show_coefficients()

    # -- how well it fits ----------------------------------------------------------------------------------------------
    st.markdown("## How well it fits")
    with st.container(horizontal=True, gap="small"):
        for label, number, text in coefficients.figures(regression):
            st.metric(label, number, help=text, border=True, width=170)
    first, second, third = side_by_side("residuals", [1, 1, 1])
    with first:
        show_chart(
            charts.fitted_chart(regression.residuals, frame.dark),
            "fitted",
            "Fitted against observed class accuracy, as the share of each bin of observed accuracy.",
            regression.residuals.fitted,
            caption="Colour: share of the column, which adds up to 100 %. Dots off the dashed line: the fit misses "
            "accuracies of that size.",
        )
    with second:
        show_chart(
            charts.residual_histogram(regression.residuals, frame.dark),
            "residuals",
            "Histogram of observed minus fitted class accuracy.",
            regression.residuals.histogram,
            caption=f"Spread {formats.points(regression.residuals.spread, sign=False)}. Dashed: normal errors of that "
            "spread.",
        )
    with third:
        show_chart(
            charts.residual_chart(regression.residuals, frame.dark),
            "residuals-target",
            "Observed minus fitted against observed class accuracy.",
            regression.residuals.by_target,
            caption="A slope is expected near 0 and 100 %: accuracy ends there, the linear fit does not."
            if link == "linear"
            else "A slope that is left over is what the terms cannot tell.",
        )

    # -- as a table ----------------------------------------------------------------------------------------------------
    with st.expander("As a table, and on the command line"):
        table = kept(frame.source, "table", fit, lambda: regression_table(regression))
        st.code(table, language=None)
        with st.container(horizontal=True):
            st.download_button(
                "Table as text", table, "regression.txt", "text/plain", key="regression-text", on_click="ignore"
            )
            st.download_button(
                "Coefficients as CSV",
                lambda: formats.csv_bytes(coefficients.coefficient_csv(regression)),
                "regression.csv",
                "text/csv",
                key="regression-csv",
                on_click="ignore",
            )
        st.markdown("The same on the command line:")
        asked = RegressionQuery(frame.experiment, scope, off, model, terms, link, errors, collapsed)
        st.code(command(f"{catalog.studies_root().name}/{frame.name}", asked), language="bash", wrap_lines=True)
        st.caption(
            "A formula of your own goes behind `--formula` there; not here, because formulas run code. This one is"
        )
        st.code(regression.formula, language=None, wrap_lines=True)
        st.caption(
            "Rows stand in the order of data set, network, treatment, technique, seed, level and class. Level 0 is "
            "left out, for there accuracy is its own start."
        )


frame = open_page("pages/regression.py")
show_page(frame)
