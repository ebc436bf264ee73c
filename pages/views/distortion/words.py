"""Recall distortion in words: where pruning stops helping, how sure that is, and what the paper found."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd

from engine.analysis.distortion.paper_findings import SAID, Evidence, Finding
from engine.analysis.distortion.verdicts import Cell, HelpfulRange
from pages.shared import formats
from pages.shared.cache.catalog import Source
from pages.shared.training_note import training_sentence
from pages.views.distortion.charts import half
from pages.views.distortion.series import Series

DIFFERENCES = ("growth", "undecayed")
"""Findings whose means are differences of alpha."""

ALPHA_HELP = (
    "Alpha is the slope of the classes' distances from the accuracy, after pruning against before. Above 1, pruning "
    "intensifies the gaps between classes; below 1, it evens them out."
)

MOST_NAMED = 3
"""Series without a range that a sentence names; the table has them all."""

SAID_HERE = {"as there": "so it is here", "opposite": "the opposite", "undecided": "cannot tell"}
"""What the study says of a finding, as a head of a column."""

CHANCE = 0.01
"""Gaps before pruning that chance makes more often than this are hardly gaps."""


def range_sentence(
    ranges: Sequence[HelpfulRange], series: Mapping[str, Series], controlled: Collection[str] = ()
) -> str:
    """How far pruning keeps accuracy and widens no gap: the series for which that goes furthest; markdown.

    `controlled` names the series that are beside networks that trained as long, not beside dense.
    """
    best = ranges[0]
    one = series[best.series]
    who = f"{formats.plain(one.subject)}, {formats.plain(one.way)}"
    if best.last is None:
        none = f"{who} has no level" if len(ranges) == 1 else f"None of the {len(ranges)} has a level"
        return f"**{none} that keeps the accuracy without widening the gaps between classes.**"
    sparse, seeds = formats.sparsity(best.last.sparsity), best.last.n_seeds
    judged = "judged by one training run" if seeds < 2 else f"average of {formats.seeds(seeds)}"
    doubt = "" if best.last.surely_helps else "; chance may explain it"
    as_long = ", beside a network that trained as long" if best.series in controlled else ""
    return (
        f"**Up to {sparse} sparsity neither accuracy nor the gaps between classes get worse**{_ending(best)} "
        f"({who}{as_long}, {judged}{doubt})."
    )


def detail_sentences(ranges: Sequence[HelpfulRange], confidence: float, controlled: Collection[str] = ()) -> str:
    """The numbers where that range ends and beyond it, how sure they are, and where other ranges end; markdown."""
    best = ranges[0]
    beside = best.series in controlled
    parts = [f"{_numbers(cell, beside)}." for cell in (best.last, best.beyond) if cell is not None]
    if best.last is not None:
        parts.append(f"Average of {formats.seeds(best.last.n_seeds)}; {_certainty(best, confidence)}")
        if round(best.last.spread, 2) > 1:
            parts.append(
                f"All gaps together are {formats.number(best.last.spread)} times as wide as before all the same: they "
                "moved to other classes."
            )
    return " ".join([*parts, *_others(best, ranges[1:])])


def controlled_sentence(
    controlled: Collection[str], since_dense: Sequence[HelpfulRange], series: Mapping[str, Series]
) -> str:
    """What the ranges are measured against, and how far the best would seem to go against dense; markdown."""
    others = "" if set(series) == set(controlled) else "; the others are compared with the dense network"
    text = f"Networks that kept training are compared with networks that trained as long and lost no weight{others}."
    best = since_dense[0]
    if best.last is None or best.series not in controlled:
        return text
    return (
        f"{text} Against the dense network, {formats.plain(best.series)} would seem to help up to ratio "
        f"{formats.number(best.last.ratio)}: that is longer training, not pruning."
    )


def range_training(
    best: HelpfulRange, one: Series, models: pd.DataFrame, source: Source, controlled: bool = False
) -> str:
    """What of accuracy and alpha at the end of a range is training; empty where it is little, or taken out already."""
    if best.last is None or controlled:
        return ""
    at_end = models[(models["series"] == best.series) & (models["ratio"] == best.last.ratio)]
    level = int(at_end["level"].iloc[0])
    return training_sentence(source, one.experiment, one.variant, level, best.last.change, "intensification")


def cautions(cells: pd.DataFrame, models: pd.DataFrame, chance: pd.DataFrame) -> list[str]:
    """What a reader of alpha should know before believing it."""
    texts = []
    fewest = int(cells["n_seeds"].min())
    if fewest < 5:
        few = "Some cells have" if fewest < cells["n_seeds"].max() else "Every cell has"
        wide = "no interval is possible and nothing is decided" if fewest < 2 else "intervals are wide"
        texts.append(f"{few} only {formats.seeds(fewest)}: {wide}.")
    texts += _left_behind(cells)
    collapsed = int(cells["n_collapsed"].sum())
    if collapsed:
        of = f"{formats.count(collapsed)} of {formats.count(cells['n_models'].sum())} models put"
        texts.append(f"{of} every example into one class; their alpha is large and says little.")
    missing = models[models["alpha"].isna()]
    for reason, rows in missing.groupby("reason"):
        texts.append(f"{formats.count(len(rows))} models have no alpha: {reason}.")
    noise = int((chance["chance"] > CHANCE).sum())
    if noise:
        texts.append(
            f"In {formats.count(noise)} of {formats.count(len(chance))} runs the dense network's classes differ no "
            "more than chance allows; alpha is mostly noise there."
        )
    return texts


def findings_table(found: Sequence[Finding]) -> pd.DataFrame:
    """One row per finding of the paper: how often this study agrees, disagrees, or cannot tell."""
    rows = [
        {"the paper found": one.text, **{SAID_HERE[verdict]: one.count(verdict) for verdict in SAID}} for one in found
    ]
    return pd.DataFrame(rows).assign(cases=[len(one.evidence) for one in found])


def finding_sentence(finding: Finding, most: int = 4) -> str:
    """A finding of the paper with the numbers of the first series; markdown."""
    parts = []
    for name in list(dict.fromkeys(one.where for one in finding.evidence)):
        rows = [one for one in finding.evidence if one.where == name]
        parts.append(f"{formats.plain(name)} {', '.join(_number(one, finding.key in DIFFERENCES) for one in rows)}")
    more = f"; and {len(parts) - most} more" if len(parts) > most else ""
    kind = "Difference of alpha" if finding.key in DIFFERENCES else "Alpha"
    return f"- **{finding.text}.** {kind} by ratio: {'; '.join(parts[:most])}{more}."


def map_heading(cells: pd.DataFrame) -> str:
    """How often gaps surely grow or shrink."""
    counts = cells["verdict"].value_counts()
    wider, narrower = (int(counts.get(verdict, 0)) for verdict in ("intensifies", "evens out"))
    if not wider + narrower:
        return f"In none of {len(cells)} cases do the gaps surely change"
    return f"Gaps between classes surely grow in {wider} of {len(cells)} cases and shrink in {narrower}"


def _left_behind(cells: pd.DataFrame) -> list[str]:
    """That means at high ratios are of the runs that have them, where others stopped before."""
    texts = []
    for series, rows in cells[cells["n_models"] < cells["n_started"]].groupby("series", observed=True, sort=False):
        reached = ", ".join(f"{row.n_models} have ratio {formats.number(row.ratio)}" for row in rows.itertuples())
        started = formats.count(rows["n_started"].iloc[0])
        texts.append(f"Of {started} runs with {series}, {reached}: means there are of those alone.")
    return texts


def _ending(best: HelpfulRange) -> str:
    if best.beyond is None:
        return ", the furthest that was tried"
    lost = {
        (False, False): "accuracy falls and the gaps widen",
        (False, True): "accuracy falls",
        (True, False): "the gaps widen",
    }
    return f"; beyond that {lost[best.beyond.keeps_accuracy, best.beyond.keeps_balance]}"


def _numbers(cell: Cell, controlled: bool) -> str:
    """A cell in a few words: "At ratio 10: accuracy +0.3 pt ± 0.4, alpha 0.97 ± 0.08, undecided"; beside a control,
    alpha is what it has more."""
    change = f"{formats.points(cell.change)} {formats.plus_minus(cell.change_low, cell.change_high)}".strip()
    more = round(cell.alpha - 1, 2)
    value = f"{more:{'+' if more else ''}z.2f}" if controlled else formats.number(cell.alpha)
    alpha = f"{value}{half(cell.low, cell.high)}"
    return f"At ratio {formats.number(cell.ratio)}: accuracy {change}, alpha {alpha}, {cell.verdict}"


def _others(best: HelpfulRange, others: Sequence[HelpfulRange]) -> list[str]:
    """Where the other ranges end, against the one that goes furthest."""
    if best.last is None:
        return []
    tied = [formats.plain(r.series) for r in others if r.last and r.last.ratio == best.last.ratio]
    less = [(r.series, r.last.ratio) for r in others if r.last and r.last.ratio < best.last.ratio]
    ends = [f"{formats.plain(name)} to ratio {formats.number(ratio)}" for name, ratio in less]
    none = [formats.plain(r.series) for r in others if r.last is None]
    few = none if len(none) <= MOST_NAMED else [f"{len(none)} others"]
    told = {"As far": tied, "Less far": ends, "At no ratio": few}
    return [f"{where}: {', '.join(names)}." for where, names in told.items() if names]


def _certainty(best: HelpfulRange, confidence: float) -> str:
    n, sure = len(best.cells), best.n_sure
    level = formats.percent(confidence, 1 if confidence > 0.99 else 0)
    if best.last is not None and best.last.n_seeds < 2:
        return "one training run gives no interval."
    if n == 1:
        doubt = f"both {level} intervals lie" if sure else f"not both {level} intervals lie"
        return f"{doubt} on the good side there."
    share = "all" if sure == n else str(sure or "none")
    start = f"from {formats.number(best.cells[0].ratio)} to {formats.number(best.cells[-1].ratio)}"
    verb = "" if sure == n else "do "
    return f"at {share} of the {n} ratios {start} {verb}both {level} intervals lie on the good side."


def _number(one: Evidence, signed: bool) -> str:
    """Evidence as "(50) +0.77 ± 0.20", the ratio in brackets."""
    doubt = "" if np.isnan(one.low) else f" ± {formats.fixed((one.high - one.low) / 2, 2)}"
    sign = "+" if signed and one.mean > 0 else ""
    return f"({formats.number(one.ratio)}) {sign}{formats.fixed(one.mean, 2)}{doubt}"
