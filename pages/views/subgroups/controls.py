"""The Subgroups page in parts: which groups and rate are asked for, the sentence, the table."""

from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from engine.analysis.examples.subgroups import RATES, SMALL
from pages.shared import bound, formats
from pages.shared.names import BASELINE_LABELS, baseline_name, group_in_words, group_name
from pages.shared.pickers import ExampleSet, Populations, distinct

FEW_GROUPS = 6
"""More groups than this can be searched."""

MOST_COLUMNS = 3
MOST_GROUPS = 60
"""More intersections than this cannot be read; a column less is asked for."""

EVERY = "every class"
LABEL = "class"
ALPHA = 0.05


@dataclass(frozen=True)
class SubgroupQuery:
    """Which columns are crossed, which rate is looked at, and for which class against the rest."""

    columns: tuple[str, ...]
    rate: str
    positive: int | None


def choose_rates(example_set: ExampleSet) -> SubgroupQuery:
    """The columns, the class and the rate, all in the address."""
    offered = distinct(example_set.group_columns, lambda name: name.replace("_", " "))
    columns = bound.multiselect(
        "Groups",
        list(offered),
        default=list(offered)[:2],
        max_selections=MOST_COLUMNS,
        key="groups",
        help="Columns of the examples with up to 20 values. Two or three are also crossed.",
        width=260,
    )
    names = distinct(map(str, example_set.classes["class"]), lambda c: example_set.class_names[int(c)])
    binary = len(names) == 2
    options = list(names) if binary else [EVERY, *names]
    chosen = str(
        bound.selectbox(
            "Class against the rest",
            options,
            index=len(options) - 1 if binary else 0,
            key="positive",
            help="False positives: others taken for this class. False negatives: this class taken for others. "
            "With every class there is only the error.",
            width=170,
        )
    )
    positive = None if chosen == EVERY else int(names[chosen])
    rates = list(RATES) if positive is not None else ["error"]
    rate = bound.segmented_control("Rate", rates, default="error", format_func=RATES.__getitem__, key="rate")
    return SubgroupQuery(tuple(offered[name] for name in columns), str(rate), positive)


def choose_groups(table: pd.DataFrame) -> list[str]:
    """Names of the groups that are looked at, where there are many; empty for all of them."""
    groups = table[table["grouping"] != "all"].drop_duplicates(["grouping", "group"])
    names = list(dict.fromkeys(group_name(row.grouping, row.group) for row in groups.itertuples()))
    if len(names) <= FEW_GROUPS:
        return []
    return bound.multiselect(
        "Find groups",
        names,
        default=[],
        key="only",
        placeholder=f"All {len(names)}; type to search",
        help="What is drawn and listed. The tests are of all groups as before.",
        width=260,
    )


def of_groups(table: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """The rows of these groups and of everybody; all rows where none is named."""
    if not names:
        return table
    named = [group_name(row.grouping, row.group) in names for row in table.itertuples()]
    return table[(table["grouping"] == "all").to_numpy() | named]


def answer_sentence(table: pd.DataFrame, asked: SubgroupQuery, networks: Populations) -> str:
    """Whose errors grow most, against everyone else's, and whether that could be chance."""
    rows = table[table["rate"] == asked.rate]
    rate = RATES[asked.rate].lower()
    groups = rows[(rows["grouping"] != "all") & ~rows["small"] & rows["against_rest"].notna()]
    if groups.empty:
        everybody = rows[rows["grouping"] == "all"].iloc[0]
        return f"**The {rate} {_goes(everybody)}.** No group is large enough to be told from the others."
    worst = groups.loc[groups["against_rest"].idxmax()]
    who = formats.plain(_in_words(str(worst["grouping"]), str(worst["group"])))
    more = f"{formats.points_in_words(worst['against_rest'])} {'more' if worst['against_rest'] > 0 else 'less'}"
    return (
        f"**{who[0].upper()}{who[1:]}: the {rate} {_goes(worst)}**, {more} than everyone else's. "
        f"{chance_sentence(groups, worst, len(networks.before))}"
    )


def context_sentence(table: pd.DataFrame, asked: SubgroupQuery, networks: Populations) -> str:
    """Which networks these are, and how everybody fares."""
    everybody = table[(table["rate"] == asked.rate) & (table["grouping"] == "all")].iloc[0]
    return (
        f"{networks.words} at {formats.sparsity(networks.sparsity)} sparsity, against {networks.baseline}, "
        f"{formats.seeds(len(networks.before))}. For everybody the {RATES[asked.rate].lower()} {_goes(everybody)}."
    )


def curve_heading(curves: pd.DataFrame, asked: SubgroupQuery) -> str:
    """Whom the sparsest networks serve worst; markdown."""
    rows = curves[(curves["rate"] == asked.rate) & (curves["grouping"] != "all") & curves["compressed"].notna()]
    rate = RATES[asked.rate].lower()
    if rows.empty:
        return f"The {rate} as weights are cut"
    last = rows[rows["level"] == rows["level"].max()]
    worst = last.loc[last["compressed"].idxmax()]
    name = formats.plain(group_name(worst["grouping"], worst["group"]))
    return f"Highest {rate} at {formats.sparsity(worst['sparsity'])}: {name}"


def _in_words(column: str, group: str) -> str:
    """A group in a sentence; a crossing is called by its parts: "Asian × 0-9"."""
    return group_name(column, group) if "×" in column else group_in_words(column, group)


def _goes(row: pd.Series) -> str:
    """ "grows from 1.9 % to 3.1 %"."""
    before, after = formats.percent(row["before"]), formats.percent(row["compressed"])
    if before == after:
        return f"stays at {after}"
    return f"{'grows' if row['compressed'] > row['before'] else 'falls'} from {before} to {after}"


def chance_sentence(groups: pd.DataFrame, worst: pd.Series, n_seeds: int) -> str:
    """Whether the groups' changes differ by more than chance explains; two complements are one test."""
    tests = groups.drop_duplicates("test")
    n_differing = int((tests["p_corrected"] < ALPHA).sum())
    if n_differing and len(tests) == 1:
        return f"The difference is larger than chance explains (p {_p(worst['p_corrected'])})."
    if n_differing:
        return f"{n_differing} of {len(tests)} comparisons differ by more than chance explains (5 %, corrected)."
    if not worst["can_reject"]:
        return f"With {formats.seeds(n_seeds)} this cannot be told from chance, whatever the difference."
    least = formats.points_in_words(worst["reach"])
    return f"With {formats.seeds(n_seeds)} this cannot be told from chance: a difference below {least} could not be."


def _p(value: float) -> str:
    shown = formats.p_value(value)
    return shown if shown.startswith("<") else f"= {shown}"


def shown_table(table: pd.DataFrame, asked: SubgroupQuery) -> pd.DataFrame:
    """The groups at one level, the largest growth first, for people."""
    rows = table[table["rate"] == asked.rate].sort_values("against_rest", ascending=False, na_position="first")
    shown = pd.DataFrame(
        {
            "by": rows["grouping"].str.replace("_", " "),
            "group": [group_name(row.grouping, row.group) for row in rows.itertuples()],
            "n": rows["n"],
            "note": ["small" if small else "" for small in rows["small"]],
            "before": rows["before"] * 100,
            "compressed": rows["compressed"] * 100,
            "change": [
                f"{formats.points(row.change)} {formats.plus_minus(row.low, row.high)}".strip()
                for row in rows.itertuples()
            ],
            "relative change": rows["normalised"],
            "against the others": [formats.points(value) for value in rows["against_rest"]],
            "p": [formats.p_value(p) for p in rows["p_corrected"]],
        }
    )
    return shown if rows["small"].any() else shown.drop(columns="note")


def table_columns(kind: str) -> dict[str, Any]:
    """How the columns of `shown_table` are shown; `kind` is that of the baseline."""
    column = st.column_config
    return {
        "n": column.NumberColumn(format="localized", help="Examples that the rate is about."),
        "note": column.TextColumn(width=60, help=f"Fewer than {SMALL} examples: the rate is shaky."),
        "before": column.NumberColumn(BASELINE_LABELS[kind].lower(), format="%.1f %%"),
        "compressed": column.NumberColumn("pruned", format="%.1f %%"),
        "change": column.TextColumn(
            help=f"Against {baseline_name(kind)}, with a 95 % interval over new runs and new examples, or writers."
        ),
        "relative change": column.NumberColumn(
            format="%+.0f %%", help=f"The change over the rate of {baseline_name(kind)}."
        ),
        "p": column.TextColumn("p, corrected", help="That the group changes like all others; Holm over all tests."),
    }
