"""What does training against gaps change?"""

from functools import partial

import pandas as pd
import streamlit as st

from engine.analysis.causes.mitigation_arms import NONE, against_none, arm_curves, price
from engine.analysis.columns import is_mitigated
from engine.analysis.seeds import over_seeds
from engine.errors import PruneScopeError
from pages.shared import bound, formats
from pages.shared.body import body, part
from pages.shared.cache import catalog, extras
from pages.shared.cache.kept import kept
from pages.shared.frame import Frame, open_page, stop_with, stop_with_experiments
from pages.shared.layout import answer, show_chart, show_rows, side_by_side
from pages.shared.names import arm_name, variant_labels
from pages.shared.pickers import choose_axis, choose_level, level_labels
from pages.shared.session.candidate import opening_index, opening_level, pinned
from pages.views.mitigation import charts, words


@part
def show_training(frame: Frame, every: pd.DataFrame) -> None:
    """Groups and multipliers epoch by epoch, of an arm of choice."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        names = {arm_name(name): name for name in words.ordered_arms(list(map(str, every["mitigation"].unique())))}
        arm = names[bound.selectbox("Method", list(names), key="arm", width=220)]
        multipliers = every[(every["mitigation"] == arm).to_numpy()]
        trained = multipliers.groupby("level")["sparsity"].mean()
        stages = {
            ("the unpruned network" if not level else formats.sparsity(at)): int(level) for level, at in trained.items()
        }
        stage = bound.selectbox("Training of", list(stages), key="stage", width=200)
        terms = {words.TERMS.get(str(term), str(term)): str(term) for term in multipliers["term"].unique()}
        term = terms[bound.selectbox("Quantity", list(terms), key="term", width=220)]
    if warning := words.negative_weight_sentence(multipliers):
        st.warning(warning, icon=":material/warning:")
    multipliers = multipliers[(multipliers["level"] == stages[stage]) & (multipliers["term"] == term)]
    moved = "weight" if "weight" in multipliers and multipliers["weight"].notna().all() else "multiplier"
    means = over_seeds(multipliers, ["epoch", "group", "term"], ["value", "whole", moved])
    measured = means.dropna(subset="value")
    served = catalog.class_means(frame.source, frame.experiment)
    served = served[(served["level"] == 0).to_numpy()]
    classes = served["class"].map(lambda number: frame.class_names.get(int(number), str(number)))
    accuracy = dict(zip(classes, served["accuracy"], strict=True)) if (multipliers["grouping"] == "class").all() else {}
    colours = charts.training_colours(list(map(str, measured["group"].unique())), accuracy, frame.dark)
    absent = sorted(set(map(str, means["group"])) - set(colours))
    show_chart(
        charts.training_chart(measured, moved, colours, frame.dark),
        "training",
        f"Each group's quantity and {moved}, epoch by epoch.",
        means,
        caption=f"Average of the training runs, over an epoch's batches. {words.MOVED[moved]}"
        + (f" Without a training example: {formats.plain(', '.join(absent))}." if absent else ""),
    )


@body
def show_page(frame: Frame) -> None:
    """The answer and what it rests on."""
    try:
        outcomes = frame.keep(extras.arms(frame.source, frame.experiment))
        multipliers = extras.multipliers(frame.source, frame.experiment)
    except PruneScopeError as error:
        stop_with("The runs cannot be read.", formats.plain(error))
    if not any(map(is_mitigated, outcomes["mitigation"].unique())):
        stop_with_experiments(
            frame,
            "pages/mitigation.py",
            "No run here was trained against gaps.",
            "Compute some with `--mitigation before`, `after` and `both` beside `none`; `python -m engine list "
            "mitigation_rules` says how.",
            extras.is_mitigated,
        )
    above = st.container()

    # -- which runs, which groups, how measured ------------------------------------------------------------------------
    with st.container(horizontal=True, gap="medium"):
        mitigated = outcomes[outcomes["mitigation"] != NONE]
        ways = mitigated[["technique", "treatment"]].drop_duplicates().astype(str).itertuples(index=False)
        labels = variant_labels([(str(technique), str(treatment), NONE) for technique, treatment in ways])
        one = pinned(frame)
        at = opening_index([variant[:2] for variant in labels.values()], one and one.variant[:2])
        way = labels[
            bound.selectbox("Technique", list(labels), at, key="variant", help="And what follows each cut.", width=220)
        ]
        for column, value in zip(("technique", "treatment"), way, strict=False):
            outcomes = outcomes[(outcomes[column] == value).to_numpy()]
        of = (frame.experiment, frame.techniques, frame.treatments, way)
        curves, changes = kept(frame.source, "arms", of, lambda: (arm_curves(outcomes), against_none(outcomes)))
        level = _level(frame, curves)
        groupings = {str(name).capitalize(): str(name) for name in outcomes["grouping"].unique()}
        grouping = groupings[
            bound.selectbox(
                "Gaps between",
                list(groupings),
                key="grouping",
                help="The groups whose gap is measured; a method may have worked on others, as its name then says.",
                width=140,
            )
        ]
        measures = {text: key for key, text in words.LABELS.items()}
        measure = measures[
            bound.segmented_control(
                "Measured as",
                list(measures),
                default=next(iter(measures)),
                key="measure",
                help="\n\n".join(f"**{words.LABELS[key]}**: {text}" for key, text in words.HELP.items()),
            )
        ]
    curves, changes = (table[(table["grouping"] == grouping).to_numpy()] for table in (curves, changes))
    at_level, changed = (table[(table["level"] == level).to_numpy()] for table in (curves, changes))
    with above:
        asked = (*of, grouping, level, measure)
        answer(kept(frame.source, "arm", asked, lambda: words.arm_sentence(at_level, changed, measure, grouping)))

    # -- each method against none --------------------------------------------------------------------------------------
    plain = at_level[(at_level["mitigation"] == NONE).to_numpy()]
    if len(changed):
        headings = (words.gap_heading(changed, measure), words.accuracy_heading(changed))
        for side, quantity, heading in zip(
            side_by_side("changes", [1, 1]), (measure, "accuracy"), headings, strict=True
        ):
            with side:
                st.markdown(f"## {heading}", help=words.methods_help())
                show_chart(
                    kept(
                        frame.source,
                        "arm changes",
                        (*of, grouping, level, quantity, frame.dark),
                        partial(charts.change_chart, changed, quantity, frame.dark),
                    ),
                    f"changes-{quantity}",
                    f"{heading}: change of {quantity} of each method against no mitigation.",
                    changed,
                    caption=words.change_caption(plain, quantity),
                )
        st.caption(
            "Blue: better beyond chance. Orange: worse. Grey: may be chance. Differences are between runs of the same "
            "seed. Each interval stands for itself, and the best of several was picked after looking: confirm it on "
            "other data."
        )
    with st.expander("All sparsities"):
        scale = choose_axis("kept")
        show_chart(
            kept(
                frame.source,
                "arm curves",
                (*of, grouping, measure, frame.dark, scale),
                lambda: charts.arms_chart(curves, measure, frame.dark, scale),
            ),
            "arms",
            f"Accuracy and {words.LABELS[measure].lower()} of {curves['mitigation'].nunique()} methods by sparsity.",
            curves,
            caption="Averages of the training runs with 95 % intervals. Hollow points are mitigated.",
        )
    st.markdown(f"## What each method costs, at {formats.sparsity(at_level['sparsity'].mean())} sparsity")

    def costs() -> pd.DataFrame:
        runs = catalog.load_catalog(frame.source).runs
        return words.arm_table(
            at_level, changed, price(runs[runs["run"].astype(str).isin(outcomes["run"].astype(str))])
        )

    table = kept(frame.source, "arm costs", asked, costs)
    show_rows(table, "arm-costs", "Each method's accuracy, gap and seconds.")
    st.caption("Changes are against no mitigation of the same seed. Seconds are of whole runs, on any machine.")

    # -- while training ------------------------------------------------------------------------------------------------
    if len(multipliers):
        for column, value in zip(("technique", "treatment"), way, strict=False):
            multipliers = multipliers[(multipliers[column] == value).to_numpy()]
    if len(multipliers):
        with st.expander("While training: each group's loss and its weight"):
            show_training(frame, multipliers)


def _level(frame: Frame, curves: pd.DataFrame) -> int:
    """The level that is looked at: the candidate's, or the sparsest up to 90 %, as in the paper's Table 2."""
    labels = level_labels(curves)
    sparsities = curves.groupby("level")["sparsity"].mean()
    usual = max((level for level in labels if sparsities[level] <= 0.901), default=min(labels, default=0))
    if len(labels) < 2:
        return usual
    return choose_level(labels, opening_level(frame, labels, usual), "the candidate's, or at 90 % as in the paper")


frame = open_page("pages/mitigation.py", extras.is_mitigated)
show_page(frame)
