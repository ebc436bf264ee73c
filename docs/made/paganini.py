"""Paganini's accuracies and Table 1 beside ours."""

import pandas as pd

from docs.made.study import LATER, PAPER, WRITERS, Demo, markdown
from engine.analysis.curves.class_curves import total_curves
from engine.analysis.members.slopes import slope_change
from pages.shared import formats
from pages.views.writers import words

LEVEL = 19
"""The paper's 98.6 % and about 800 weights: 19 cuts of 20 % leave 1.44 % of LeNet's, which is 862."""


def accuracy_table(demo: Demo) -> str:
    """LeNet on QMNIST, dense and at the paper's sparsity, beside the paper's."""
    rows = [
        ("Paganini 2020, Section 4.1", "official", "30 epochs, crop, flip", "about 97 %", "about 78 % at 98.6 %", "6")
    ]
    for protocol in (PAPER, WRITERS):
        curve = total_curves(demo.of(demo.levels, dataset="qmnist", **protocol))
        if curve.empty:
            rows.append(("PruneScope", "writers", protocol["protocol"], LATER, LATER, "0"))
            continue
        first, last = (curve[curve["level"] == level].iloc[0] for level in (0, LEVEL))
        after = f"{_with_interval(last)} at {formats.sparsity(last['sparsity'])}"
        seeds = str(int(first["n_seeds"]))
        rows.append(("PruneScope", "writers", protocol["protocol"], _with_interval(first), after, seeds))
    return markdown(pd.DataFrame(rows, columns=["source", "split", "protocol", "dense", "pruned", "seeds"]))


def split_words(demo: Demo) -> str:
    """What was done otherwise than in the paper: the split, and each protocol."""
    facts, spec = demo.study.class_facts("qmnist-writers"), demo.spec(dataset="qmnist", **WRITERS)
    n_train, n_test = (formats.count(facts[side].sum()) for side in ("n_train", "n_test"))
    held_out = "a part" if spec is None else formats.percent(spec.validation, 0)
    protocols = (f"- {one['protocol']}: {demo.shortened(dataset='qmnist', **one)}" for one in (PAPER, WRITERS))
    return "\n".join(
        (
            f"Why they differ: our split trains on {n_train} digits of half of the training writers, of which "
            f"{held_out} are held out, and tests on the {n_test} of the other half, so that no writer is on both "
            "sides.\n",
            *protocols,
        )
    )


def slopes_table(demo: Demo) -> str:
    """Table 1 of Paganini beside ours, at the same sparsity: lines of a writer's accuracy on mean absolute tilt."""
    printed = words.PAPER.items()
    rows = [("Paganini 2020, Table 1", group, *map(formats.fixed, values), "") for group, values in printed]
    for protocol in (PAPER, WRITERS):
        table = demo.writers(LEVEL, **protocol)
        if table is None:
            rows.append((f"PruneScope, {protocol['protocol']}", "all", LATER, LATER, LATER, LATER, ""))
            continue
        by_seed = demo.writer_seeds(LEVEL, table, **protocol)
        for row in slope_change(table, "abs_tilt", "series", seeds=by_seed).itertuples():
            numbers = (row.intercept_before, row.slope_before, row.intercept_after, row.slope_after)
            change = f"{row.slope_change:+.3f} ({row.low:+.3f} to {row.high:+.3f})"
            name = f"PruneScope, {protocol['protocol']}"
            rows.append((name, words.NAMES.get(row.group, row.group), *map(formats.fixed, numbers), change))
    heads = ["source", "series", "intercept before", "slope before", "intercept after", "slope after", "change (95 %)"]
    return markdown(pd.DataFrame(rows, columns=heads))


def _with_interval(row: pd.Series) -> str:
    return f"{formats.percent(row['accuracy'])} {formats.plus_minus(row['low'], row['high'])}".strip()
