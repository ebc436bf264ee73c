"""Why do some groups lose more?"""

from functools import partial

import streamlit as st

from engine.analysis.causes.relations import (
    RELATIONS,
    bound_facts,
    cause_curves,
    correlation,
    right_after_cut,
    skipped_groups,
)
from engine.analysis.columns import VARIANT, is_mitigated
from engine.errors import PruneScopeError
from pages.shared import bound, formats
from pages.shared.body import body
from pages.shared.cache import extras
from pages.shared.cache.kept import kept
from pages.shared.frame import Frame, open_page, stop_with, stop_with_experiments
from pages.shared.layout import answer, show_chart, side_by_side
from pages.shared.names import variant_labels
from pages.shared.pickers import choose_axis
from pages.shared.session.candidate import opening_index, opening_level, pinned
from pages.views.causes import charts, words


@body
def show_page(frame: Frame) -> None:
    """The answer and what it rests on."""
    try:
        groups = extras.diagnosed(frame.source, frame.experiment)
    except PruneScopeError as error:
        stop_with("The diagnostics cannot be read.", formats.plain(error))
    groups = groups if groups.empty else frame.keep(groups)
    if groups.empty:
        stop_with_experiments(
            frame,
            "pages/causes.py",
            "No run here was diagnosed.",
            "Compute runs with `--diagnose class`: it records the gradient, curvature and margin of "
            "every group at each level.",
            extras.is_diagnosed,
        )
    above = st.container()

    # -- which runs, which groups, at which level ----------------------------------------------------------------------
    with st.container(horizontal=True, gap="medium"):
        variants = [
            (str(a), str(b), str(c)) for a, b, c in groups[list(VARIANT)].drop_duplicates().itertuples(index=False)
        ]
        labels = variant_labels(sorted(variants, key=lambda variant: (is_mitigated(variant[2]), variant)))
        one = pinned(frame)
        label = bound.selectbox(
            "Technique",
            list(labels),
            opening_index(list(labels.values()), one and one.variant),
            key="variant",
            help="Where there are several: with what follows each cut, and mitigation.",
            width=260,
        )
        for column, value in zip(VARIANT, labels[label], strict=True):
            groups = groups[(groups[column] == value).to_numpy()]
        groupings = {str(name).capitalize(): str(name) for name in groups["grouping"].unique()}
        grouping = groupings[
            bound.selectbox(
                "Groups",
                list(groupings),
                key="grouping",
                help="Classes, or a group column of the data set.",
                width=140,
            )
        ]
        groups = groups[(groups["grouping"] == grouping).to_numpy()]
        source, of = frame.source, (frame.experiment, labels[label], grouping)
        curves = kept(source, "causes", of, lambda: cause_curves(groups))
        sparsities = curves.groupby("level")["sparsity"].mean()
        steps = {
            ("before pruning" if not level else formats.sparsity(value)): int(level)
            for level, value in sparsities.items()
        }
        shown = bound.selectbox(
            "Groups compared",
            list(steps),
            opening_index(list(steps.values()), opening_level(frame, steps.values(), 0)),
            key="level",
            help="The level whose groups are compared. The paper's relations are about the dense network.",
            width=170,
        )
    last = int(sparsities.index.max())
    colours = charts.shades(curves[curves["loss"].notna()], words.worst_group(curves, last), frame.dark)
    at_level = groups[(groups["level"] == steps[shown]).to_numpy()]
    asked = (*of, steps[shown])
    correlations = kept(source, "relations", asked, lambda: [correlation(at_level, relation) for relation in RELATIONS])
    sizes = curves.loc[curves["level"] == curves["level"].min(), "n"].tolist()

    with above:
        answer(kept(source, "cause", of, lambda: words.cause_sentence(curves, last)))
        st.markdown(words.relation_sentence(correlations, sizes) + " A pattern is no proof of a cause.")

    # -- between groups ------------------------------------------------------------------------------------------------
    rows = curves[(curves["level"] == steps[shown]).to_numpy()]
    for place in range(0, len(correlations), 2):
        pair = correlations[place : place + 2]
        for side, found in zip(side_by_side(f"relations-{place}", [1, 1]), pair, strict=False):
            with side:
                heading = words.relation_heading(found)
                st.markdown(f"## {heading}")
                show_chart(
                    kept(
                        source,
                        "relation",
                        (*asked, found.relation.x, found.relation.y, frame.dark),
                        partial(charts.relation_chart, rows, found, colours, frame.dark),
                    ),
                    f"relation-{found.relation.x}-{found.relation.y}",
                    f"{heading}. A point is a group.",
                    lambda: words.cause_table(rows),
                    caption=words.relation_caption(found),
                )
    st.caption(
        f"A point is a group, {'before pruning' if not steps[shown] else f'at {shown} sparsity'}, the average of its "
        "training runs; hover gives 95 % intervals. Correlations are of ranks within a run."
        + (" Orange: the group that loses most." if len(colours) > charts.FEW else "")
    )
    with st.expander("How sure is this?"):
        st.markdown(words.standing_sentence(curves, last))
        st.dataframe(
            words.relation_table(correlations), hide_index=True, alt="The relations that the paper reports, and ours."
        )

    # -- over sparsity -------------------------------------------------------------------------------------------------
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.markdown("## Each group as weights are cut", help="\n\n".join(words.HELP.values()), width="content")
        named = {words.QUANTITIES[key].capitalize(): key for key in words.HELP}
        quantity = bound.segmented_control("Shown", list(named), default="Gradient norm", key="quantity")
        scale = choose_axis("kept")
    show_chart(
        kept(
            source,
            "cause curves",
            (*of, quantity, scale, frame.dark),
            lambda: charts.curves_chart(curves, named[quantity], colours, scale, frame.dark),
        ),
        "causes",
        f"{quantity} of {len(colours)} groups against sparsity.",
        lambda: words.cause_table(curves),
        caption=(
            f"Accuracy is of the test side; the rest is measured on a sample of the training side: up to "
            f"{formats.count(groups['n_sample'].max())} members of each group, "
            f"{formats.count(groups['n_hessian'].max())} for the curvature, the same at every level. Averages of the "
            "training runs; hover gives 95 % intervals."
        ),
    )

    # -- the bound -----------------------------------------------------------------------------------------------------
    just_cut = kept(source, "right after the cut", of, lambda: right_after_cut(groups))
    bounded, moment = groups, ""
    st.markdown("## The paper's bound on what a group can lose")
    said = st.container()
    with st.expander("The bound beside the truth, group by group"):
        if len(just_cut):
            moment = str(
                bound.segmented_control(
                    "When", list(words.MOMENTS), default=words.AT_CUT, key="moment", help=words.MOMENT_HELP
                )
            )
            bounded = just_cut if moment == words.AT_CUT else groups
        show_chart(
            kept(
                source,
                "bound chart",
                (*of, moment, frame.dark),
                lambda: charts.bound_chart(bounded, colours, frame.dark),
            ),
            "bound",
            "Theorem 1's bound against the true excessive loss of every pruned group.",
            lambda: bounded[["group", "seed", "sparsity", "excessive_loss", "bound", "weight_change"]],
        )
        st.markdown(
            "The bound is **|g| |d| + ½ λ |d|²**: gradient norm and curvature of the dense network, and the distance "
            "d that its weights moved. It leaves out the third-order rest, so it may be broken, and it grows with d: "
            "after retraining, weights are far from where they were and the bound says little about single groups."
            + ("" if len(just_cut) else " These runs recorded no losses right after the cut, where it is defined.")
        )
    said.markdown(kept(source, "bound", (*of, moment), lambda: words.bound_sentence(bound_facts(bounded))))
    skipped = kept(source, "skipped groups", of, lambda: skipped_groups(groups))
    if len(skipped):
        st.markdown("## Groups that were not measured")
        st.dataframe(
            skipped.rename(columns={"n": "training examples"}), hide_index=True, alt="Groups left out and why."
        )


frame = open_page("pages/causes.py", extras.is_diagnosed)
show_page(frame)
