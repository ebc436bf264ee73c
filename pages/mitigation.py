"""What does training against gaps change?"""

import pandas as pd
import streamlit as st

from engine.analysis.causes.mitigation_arms import NONE, against_none, arm_curves, price
from engine.analysis.columns import is_mitigated
from engine.analysis.seeds import over_seeds
from engine.errors import PruneScopeError
from engine.specs.mitigation import CONSTRAINTS, MITIGATIONS
from pages.shared import bound, formats
from pages.shared.body import body, part
from pages.shared.cache import catalog, extras
from pages.shared.frame import Frame, open_page, stop_with, stop_with_experiments
from pages.shared.layout import answer, show_chart
from pages.shared.names import variant_labels
from pages.shared.pickers import choose_axis
from pages.shared.session.candidate import opening_index, opening_level, pinned
from pages.views.mitigation import charts, words


@part
def show_training(frame: Frame, every: pd.DataFrame) -> None:
    """Groups and multipliers epoch by epoch, of an arm of choice."""
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        st.markdown("##### While training", width="content")
        names = {
            words.arm_name(name): name for name in words.ordered_arms(list(map(str, every["mitigation"].unique())))
        }
        arm = names[bound.selectbox("Arm", list(names), key="arm", width=220)]
        multipliers = every[(every["mitigation"] == arm).to_numpy()]
        trained = multipliers.groupby("level")["sparsity"].mean()
        stages = {("dense" if not level else formats.sparsity(at)): int(level) for level, at in trained.items()}
        stage = bound.selectbox("Training of", list(stages), key="stage", width=130)
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
        caption=f"Means over seeds, of an epoch's batches. {words.MOVED[moved]}"
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
            "No run here was mitigated.",
            "Compute the arms with `--mitigation before`, `after` and `both` beside `none`; `python -m engine list "
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
            bound.selectbox("Runs", list(labels), at, key="variant", help="Technique and treatment.", width=220)
        ]
        for column, value in zip(("technique", "treatment"), way, strict=False):
            outcomes = outcomes[(outcomes[column] == value).to_numpy()]
        groupings = {str(name).capitalize(): str(name) for name in outcomes["grouping"].unique()}
        grouping = groupings[
            bound.selectbox(
                "Gaps between",
                list(groupings),
                key="grouping",
                help="The groups whose gap is measured; an arm may have mitigated another one, as its name then says.",
                width=140,
            )
        ]
        outcomes = outcomes[outcomes["grouping"] == grouping]
        curves, changes = arm_curves(outcomes), against_none(outcomes)
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
        sparsities = curves[curves["level"] > 0].groupby("level")["sparsity"].mean()
        steps = {formats.sparsity(value): int(level) for level, value in sparsities.items()}
        usual = max((level for level in steps.values() if sparsities[level] <= 0.901), default=0)
        shown = bound.selectbox(
            "Sparsity in the sentence",
            list(steps),
            index=opening_index(list(steps.values()), opening_level(frame, steps.values(), usual)),
            key="level",
            help="The sparsity of the sentence and the table; the paper's Table 2 goes to 90 %.",
            width=130,
        )
        scale = choose_axis("linear")
    at_level, changed = curves[curves["level"] == steps[shown]], changes[changes["level"] == steps[shown]]
    with above:
        answer(words.arm_sentence(at_level, changed, measure, grouping))
        st.markdown(
            f"It is the best of {changed['mitigation'].nunique()} mitigated arms, picked after looking: confirm it on "
            "other data. Intervals are 95 %, of differences between runs of the same seed."
        )

    # -- the arms ------------------------------------------------------------------------------------------------------
    st.markdown(
        "##### The arms side by side",
        help="\n\n".join(f"**{row.label}**: {row.help}" for row in MITIGATIONS.values())
        + "\n\n"
        + "\n\n".join(f"**{row.label}** ({row.source}): {row.help}" for row in CONSTRAINTS.values())
        + f"\n\n{words.rules_help()}",
    )
    show_chart(
        charts.arms_chart(curves, measure, frame.dark, scale),
        "arms",
        f"Accuracy and {words.LABELS[measure].lower()} of {curves['mitigation'].nunique()} arms against sparsity.",
        curves,
        caption="Means over seeds with 95 % intervals. Hollow points are mitigated.",
    )
    runs = catalog.load_catalog(frame.source).runs
    runs = runs[runs["run"].astype(str).isin(outcomes["run"].astype(str))]
    st.markdown(f"##### The price, at {shown} sparsity")
    st.dataframe(
        words.arm_table(at_level, changed, price(runs)), hide_index=True, alt="Each arm's accuracy, gap and seconds."
    )
    st.caption("Changes are against no mitigation of the same seed. Seconds are of whole runs, on any machine.")

    # -- while training ------------------------------------------------------------------------------------------------
    if len(multipliers):
        for column, value in zip(("technique", "treatment"), way, strict=False):
            multipliers = multipliers[(multipliers[column] == value).to_numpy()]
    if len(multipliers):
        show_training(frame, multipliers)


frame = open_page("pages/mitigation.py", extras.is_mitigated)
show_page(frame)
