"""Does pruning widen gaps between classes?"""

import streamlit as st

from engine.analysis.distortion.alpha import BASES
from engine.analysis.distortion.balances import pooled_slopes
from engine.analysis.distortion.paper_findings import findings
from engine.analysis.distortion.series_controls import control_cells, series_beside_controls
from engine.analysis.distortion.ttests import between_ratios, between_series
from engine.analysis.distortion.verdicts import at_ratios, cells, helpful_ranges
from pages.shared import bound, formats
from pages.shared.body import body, part
from pages.shared.cache.models import alphas, balances, counterparts, gap_chance
from pages.shared.frame import Frame, open_page
from pages.shared.layout import answer, show_chart, show_table, side_by_side
from pages.shared.session.candidate import opening_index, pinned
from pages.views.distortion import charts, tables, words
from pages.views.distortion.alpha_map import alpha_map
from pages.views.distortion.balance_charts import balance_matrix
from pages.views.distortion.series import (
    By,
    controls_of,
    experiment_series,
    frame_variants,
    other_protocols,
    table_of,
    technique_series,
)

MOST_PANELS = 7
COMPARE: dict[str, By] = {"Techniques": "technique", "Networks": "network", "Data sets": "dataset"}
KIND = {"technique": "Technique", "network": "Network", "dataset": "Data set"}


@body
def show_page(frame: Frame) -> None:
    """The answer and what it rests on."""
    above, candidate = st.container(), pinned(frame)

    # -- what is compared ----------------------------------------------------------------------------------------------
    asking = st.container(horizontal=True, vertical_alignment="bottom", gap="medium")
    possible = {
        label: by
        for label, by in COMPARE.items()
        if by == "technique" or len(counterparts(frame.source, frame.experiment, by)) > 1
    }
    by = possible[
        bound.segmented_control(
            "Compare",
            list(possible),
            default="Techniques",
            key="compare",
            where=asking,
            help="Networks and data sets come from the whole study; all are pruned by the schedule of the one on the "
            "left.",
        )
    ]
    if by == "technique":
        series = technique_series(frame)
    else:
        variants = frame_variants(frame)
        at = opening_index(list(variants.values()), candidate and candidate.variant)
        way = bound.selectbox("Pruned with", list(variants), at, key="way", where=asking, width=240)
        series = experiment_series(frame, by, way)
    labels = {row.label: key for key, row in BASES.items()}
    base = labels[
        bound.segmented_control(
            "Balance of",
            list(labels),
            default="Recall",
            key="base",
            where=asking,
            help="\n\n".join(f"**{row.label}**: {row.help}" for row in BASES.values()),
        )
    ]
    confidence = bound.segmented_control(
        "Intervals",
        [0.95, 0.99, 0.999],
        default=0.99,
        format_func=lambda value: f"{100 * value:g} %",
        key="confidence",
        where=asking,
        help="99 % is the paper's choice: with five ratios, all five intervals hold at once with 95 %.",
    )
    scale = bound.segmented_control(
        "Scale",
        ["near", "all"],
        default="near",
        format_func={"near": "near 1", "all": "all"}.__getitem__,
        key="scale",
        where=asking,
        help="Networks that break down have an alpha far from 1; near 1 leaves them out of sight, with an arrow.",
    )
    near = scale == "near"

    # -- what follows --------------------------------------------------------------------------------------------------
    by_name = {one.label: one for one in series}
    models = at_ratios(table_of(series, lambda experiment: alphas(frame.source, experiment, base)))
    if models["alpha"].isna().all():
        why = next(iter(models["reason"]), "no level is pruned")
        above.info(f"**Nothing to compare with dense.** {why[0].upper()}{why[1:]}.", icon=":material/info:")
        st.stop()
    table = cells(models, confidence)
    since_dense = helpful_ranges(table)
    controls = controls_of(series, frame.source, base)
    beside_others, controlled = series_beside_controls(models, controls)
    ranges = helpful_ranges(cells(beside_others, confidence)) if controlled else since_dense
    best = by_name[ranges[0].series]
    with above:
        answer(words.range_sentence(ranges, by_name, controlled))
        with st.expander("How sure is this?"):
            st.markdown(words.detail_sentences(ranges, confidence, controlled))
            if controlled:
                st.markdown(words.controlled_sentence(controlled, since_dense, by_name))
        if base == "recall" and (
            training := words.range_training(ranges[0], best, models, frame.source, best.label in controlled)
        ):
            st.markdown(f":material/warning: **That is against the dense network.** {training}")

    ratio_names = tables.ratio_names(table["ratio"].unique())
    mine = next((one.label for one in series if candidate is not None and one.variant == candidate.variant), None)
    pinned_at = models.loc[(models["series"] == mine) & (models["level"] == (candidate and candidate.level)), "ratio"]
    usual = [ratio_names[ratio] for ratio in sorted({*tables.default_ratios(table), *pinned_at})]
    looks = {one.label: charts.Look(formats.chart_text(one.label), one.colour, one.symbol) for one in series}

    left, right = side_by_side("alpha", [3, 2])
    with left:
        heading = st.container()
        asked = bound.multiselect(
            "Times fewer weights",
            list(ratio_names.values()),
            default=usual,
            key="ratios",
            placeholder="The usual ones",
            help="Pruning ratios: weights before / after. Levels count too, and ratios within 10 % are one.",
        )
        ratios = [ratio for ratio, name in ratio_names.items() if name in (asked or usual)]
        shown, shown_cells = (rows[rows["ratio"].isin(ratios)] for rows in (models, table))
        heading.markdown(f"## {words.map_heading(shown_cells)}", help=words.ALPHA_HELP)
        beside_control = control_cells(shown, controls, confidence)
        verdicts = tables.interval_table(shown_cells, beside_control, list(looks), KIND[by])
        as_map = bound.segmented_control(
            "Drawn as", ["map", "boxes"], default="map", key="drawn", label_visibility="collapsed"
        )
        show_chart(
            alpha_map(shown_cells, looks, frame.dark)
            if as_map == "map"
            else charts.alpha_boxes(shown, shown_cells, looks, near, frame.dark),
            f"alpha-{as_map}",
            f"Alpha of {len(looks)} series at {len(ratios)} pruning ratios, with the verdict.",
            verdicts,
            caption=f"Alpha: how much wider the gaps are than before. Orange, **>**: they grow. Blue, **<**: they "
            f"shrink. No colour: the {100 * confidence:g} % interval holds 1, which does not mean no effect.",
        )
    with right:
        st.markdown(
            "## Accuracy beside alpha", help="Pruning helps both where accuracy is above and alpha below the line."
        )

        @part
        def show_one() -> None:
            """One series of choice."""
            names = [helpful.series for helpful in since_dense]
            first = opening_index(names, mine)
            one = bound.selectbox("Shown", names, first, key="shown", label_visibility="collapsed")
            show_chart(
                charts.accuracy_beside_alpha(
                    table[table["series"] == one],
                    next(helpful for helpful in since_dense if helpful.series == one),
                    looks[one],
                    near,
                    frame.dark,
                ),
                "accuracy-alpha",
                f"Accuracy and alpha of {one} by pruning ratio; dense accuracy and alpha 1 lie on one line.",
                table[table["series"] == one],
                caption="Against dense. Shaded: accuracy as there or better and alpha at most 1, on average. "
                "Part of a gain may be the training after the cut.",
            )

        show_one()
    chance = table_of(series, lambda experiment: gap_chance(frame.source, experiment))
    for caution in [
        *words.cautions(shown_cells, shown, chance),
        *other_protocols(series, frame.experiment),
    ]:
        st.caption(f":material/warning: {formats.plain(caution)}")

    # -- the paper's findings ------------------------------------------------------------------------------------------
    if by == "technique" and (of_paper := findings(shown, confidence)):
        st.markdown("## What the paper found, and this study", help="Good et al. 2022; decided by intervals, as above.")
        show_table(words.findings_table(of_paper), "findings", "The paper's findings, and how often they hold here.")
        with st.expander("Numbers behind it"):
            for finding in of_paper:
                st.markdown(words.finding_sentence(finding))

    # -- intervals -----------------------------------------------------------------------------------------------------
    with st.expander("Intervals and verdicts"):
        st.dataframe(
            tables.styled_intervals(verdicts),
            hide_index=True,
            column_config=tables.interval_columns(confidence),
            placeholder=formats.MISSING,
            alt="Alpha with its interval and verdict, and accuracy, of each series at each ratio.",
        )
        control_note = (
            " Control's: networks that trained as long without pruning. The difference is what pruning itself does."
            if len(beside_control)
            else ""
        )
        st.caption(
            "Alpha below 1 beside gaps as wide as before says that the gaps moved to other classes, not that they "
            f"closed; training anew from the first weights can do that by itself.{control_note}"
        )

    # -- balances before and after -------------------------------------------------------------------------------------
    with st.expander("Classes before and after pruning, panel by panel"):
        panels = dict(list(looks.items())[:MOST_PANELS])
        points = table_of(
            [by_name[name] for name in panels], lambda experiment: balances(frame.source, experiment, base)
        ).merge(shown[["series", "run", "level", "ratio"]], on=["series", "run", "level"])
        points["name"] = tables.point_names(points, by_name, frame.source)
        slopes = pooled_slopes(points, ["series", "ratio"])
        show_chart(
            balance_matrix(points, slopes, panels, near, frame.dark),
            "balances",
            f"Normalised balance of every class before and after, for {len(panels)} series at {len(ratios)} ratios.",
            slopes,
            caption="A point is a class of one network: how far its recall lies from the accuracy, as a share of the "
            "accuracy. Solid: slope α of all networks together, with r² and their mean accuracy. Dashed: no change. "
            f"{tables.panel_note(len(looks), MOST_PANELS)}",
        )

    # -- tests ---------------------------------------------------------------------------------------------------------
    with st.expander("Is the difference more than chance?"):
        tables.show_tests(
            between_ratios(shown),
            ratio_names,
            "**Between ratios**: does alpha grow from one ratio to the next?",
            "One-sided and paired by seed, as in the paper: each network is pruned to both ratios.",
        )
        paired = by == "technique"
        tables.show_tests(
            between_series(shown, paired),
            ratio_names,
            f"**Between {tables.PLURAL[by]}**: does alpha differ at the same ratio?",
            tables.PAIRED if paired else tables.INDEPENDENT,
        )
        st.caption(
            "p-values of t-tests, multiplied by the number of tests in their column (Bonferroni). Marked: below 0.05."
        )
    st.caption(
        "After Good et al. 2022, Recall Distortion in Neural Network Pruning and the Undecayed Pruning Algorithm."
    )


frame = open_page("pages/distortion.py")
show_page(frame)
