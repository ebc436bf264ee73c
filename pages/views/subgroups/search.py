"""Which of all groups pays most: a search that the page makes when it is folded out, and what it found in words."""

import pandas as pd
import streamlit as st

from engine.analysis.examples.subgroups import RATES, SMALL, rate_cases
from engine.analysis.examples.worst_crossing import (
    CLASS,
    MOST_CROSSED,
    HalfFacts,
    WorstCrossing,
    searched_columns,
    worst_crossing,
)
from pages.shared import formats
from pages.shared.body import part
from pages.shared.cache.kept import kept
from pages.shared.names import QUARTERS, column_name, group_in_words
from pages.shared.pickers import ExampleSet, Populations
from pages.views.subgroups.controls import SubgroupQuery


@part
def show_search(example_set: ExampleSet, networks: Populations, asked: SubgroupQuery) -> None:
    """The group that pays most among all groups and crossings, found on one half and tested on the other."""
    st.markdown("## Who pays most, of all groups?")
    fold = st.expander("Search every group and crossing", icon=":material/search:", key="search", on_change="rerun")
    if not fold.open:
        return
    of = (networks.asked, networks.level, asked.rate, asked.positive)
    with fold, st.spinner("Searching …"):
        worst = kept(networks.asked.source, "worst crossing", of, lambda: _searched(example_set, networks, asked))
    with fold:
        if worst is None:
            st.info(
                f"**No group is large enough.** A search needs groups of {SMALL} examples in both halves.",
                icon=":material/info:",
            )
            return
        st.markdown(search_sentence(worst, asked.rate))
        st.table(half_table(worst, asked.rate), border="horizontal", hide_index=True, alt="The group on both halves.")
        whose = example_set.member_columns[0].replace("_", " ") + "s" if example_set.member_columns else "examples"
        st.caption(
            f"{formats.count(worst.n_searched)} groups were searched: classes, groups and quarters of attributes, "
            f"alone and up to {MOST_CROSSED} crossed, with {SMALL} examples or more in each half. Half of the "
            f"{formats.plain(whose)} picked one; the other half tests that one alone. Whoever tries many sparsities "
            "until one holds is searching again."
        )


def search_sentence(worst: WorstCrossing, rate: str) -> str:
    """Whom the search found, and whether the half that it has not seen agrees; markdown."""
    who, name, there = crossing_name(worst), RATES[rate].lower(), worst.confirmed
    if worst.holds:
        return (
            f"**{who}: the {name} grows {formats.points_in_words(there.against_rest)} more than everyone else's** "
            f"(95 %: {_span(there)}), on examples that the search has not seen."
        )
    return (
        f"**No group surely pays most.** The search picked {who}; on the other half its {name} changes by "
        f"{formats.points(there.against_rest)} against everyone else's (95 %: {_span(there)})."
    )


def crossing_name(worst: WorstCrossing) -> str:
    """The group by its parts: "Students (hsf4) × class 8 × slant: highest quarter"; markdown."""
    parts = [
        f"{column_name(column)}: {group}" if group in QUARTERS else group_in_words(column, group)
        for column, group in zip(worst.columns, worst.groups, strict=True)
    ]
    text = formats.plain(" × ".join(parts))
    return text[:1].upper() + text[1:]


def half_table(worst: WorstCrossing, rate: str) -> pd.DataFrame:
    """The group on both halves, a row each, for people."""
    rows = {"the half that picked it": worst.found, "the half that tests it": worst.confirmed}
    name = RATES[rate].lower()
    return pd.DataFrame(
        {
            "on": list(rows),
            "examples": [formats.count(half.n) for half in rows.values()],
            f"{name} before": [formats.percent(half.before) for half in rows.values()],
            f"{name} pruned": [formats.percent(half.compressed) for half in rows.values()],
            "against the others": [
                f"{formats.points(half.against_rest)} {formats.plus_minus(half.low, half.high)}".strip()
                for half in rows.values()
            ],
            "p": ["picked for it", formats.p_value(worst.confirmed.p)],
        }
    )


def _searched(example_set: ExampleSet, networks: Populations, asked: SubgroupQuery) -> WorstCrossing | None:
    examples = example_set.examples
    names = [example_set.class_names.get(number, str(number)) for number in range(int(examples["label"].max()) + 1)]
    columns = searched_columns(examples, names)
    if asked.positive is not None:
        columns = columns.drop(columns=CLASS)  # the rates of one class against the rest part the classes already
    for name, values in columns.items():
        if isinstance(values.dtype, pd.CategoricalDtype) and len(values.cat.categories) == len(QUARTERS):
            columns[name] = values.cat.rename_categories(list(QUARTERS))
    labels = examples["label"].to_numpy()
    case = rate_cases(labels, networks.before, networks.compressed, asked.positive)[asked.rate]
    return worst_crossing(examples, columns, case)


def _span(half: HalfFacts) -> str:
    return f"{formats.points(half.low)} to {formats.points(half.high)}"
