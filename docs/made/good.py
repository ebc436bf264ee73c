"""Good's intensification by ratio beside ours."""

from dataclasses import dataclass

import pandas as pd

from docs.made.study import AT_ONCE, LATER, Demo, markdown
from engine.analysis.distortion.alpha import alphas
from engine.analysis.distortion.verdicts import verdict
from engine.analysis.intervals import t_interval
from engine.store import catalog
from pages.shared import formats
from pages.shared.names import dataset_name, technique_name

TECHNIQUES = ("global_unstructured", "gradient", "undecayed", "global_random")
LOW, HIGH = (2, 4), (20, 50)
"""Ratios at which the paper finds gaps evened out, and widened."""
THEIR_SEEDS = 30


@dataclass(frozen=True)
class Cell:
    """One technique at one ratio: what its interval decides, and of how many seeds."""

    technique: str
    ratio: float
    verdict: str
    n_seeds: int


def distortion_table(demo: Demo) -> str:
    """Alpha and recall variance by data set, technique and ratio, and whether the paper's direction is found."""
    rows: list[tuple[str, ...]] = []
    found: list[Cell] = []
    for dataset in ("fashion-mnist", "qmnist"):
        runs = demo.of(demo.classes, dataset=dataset, protocol=AT_ONCE)
        runs = runs[runs["technique"].isin(TECHNIQUES)]
        if runs.empty:
            rows.append((dataset, LATER, "", "", "", "", "", ""))
            continue
        models = alphas(runs).assign(variance=_variances(runs))
        for technique in TECHNIQUES:
            for level, cell in models[models["technique"] == technique].groupby("level"):
                ratio = f"{1 / (1 - cell['sparsity'].mean()):.0f}"
                alpha, said = _alpha(cell) if level else ("1", "")
                facts = (formats.percent(cell["accuracy"].mean()), alpha, said, f"{cell['variance'].mean():.4f}")
                rows.append((dataset, technique_name(technique), ratio, *facts, str(len(cell))))
                found.append(Cell(technique, float(ratio), said, len(cell)))
    heads = ["data set", "technique", "ratio", "accuracy", "alpha (99 %)", "verdict", "recall variance", "seeds"]
    table = markdown(pd.DataFrame(rows, columns=heads))
    return f"{direction(found, 'Found here, random pruning aside')}{table}{_stopped(demo)}"


def shorter_words(demo: Demo) -> str:
    """What was done otherwise than in the paper, by data set."""
    protocol = AT_ONCE
    return "\n".join(
        f"- {dataset_name(dataset)}: {demo.shortened(dataset=dataset, protocol=protocol)}"
        for dataset in ("fashion-mnist", "qmnist")
    )


def _variances(runs: pd.DataFrame) -> pd.Series:
    """Variance of the classes' recalls, one per model, in the order of `alphas`."""
    recall = (runs["correct"] / runs["n"]).to_numpy()
    found = runs.assign(recall=recall).groupby(["run", "level"], observed=True, sort=False)["recall"].var(ddof=0)
    return found.reindex(pd.MultiIndex.from_frame(alphas(runs)[["run", "level"]])).to_numpy()


def _alpha(cell: pd.DataFrame) -> tuple[str, str]:
    mean = cell["alpha"].mean()
    low, high = map(float, t_interval(mean, cell["alpha"].std(), len(cell), 0.99))
    if low != low:
        return f"{mean:.3f}", "one seed"
    return f"{mean:.3f} ({low:.3f} to {high:.3f})", str(verdict(low, high))


def direction(found: list[Cell], where: str) -> str:
    """How often the paper's direction is found where it expects one, and with how many seeds; random pruning aside."""
    found = [cell for cell in found if cell.technique != "global_random" and cell.ratio in (*LOW, *HIGH)]
    if not found:
        return ""
    fewest, most = min(cell.n_seeds for cell in found), max(cell.n_seeds for cell in found)
    seeds = f"{most if fewest == most else f'{fewest} to {most}'} seeds a cell (there {THEIR_SEEDS})"
    parts = []
    for ratios, expected in ((LOW, "evens out"), (HIGH, "intensifies")):
        cells = [cell.verdict for cell in found if cell.ratio in ratios]
        counts = f"{cells.count(expected)} of {len(cells)} cells"
        against = "intensifies" if expected == "evens out" else "evens out"
        parts.append(
            f"at ratios {ratios[0]} and {ratios[1]} pruning {expected} in {counts} (the other way in "
            f"{cells.count(against)}, undecided in the rest)"
        )
    return f"{where}, {seeds}: {parts[0]}; {parts[1]}.\n\n"


def _stopped(demo: Demo) -> str:
    """How many runs end before the last ratio because a layer would be empty."""
    runs = demo.of(catalog.refresh(demo.study).runs, protocol=AT_ONCE)
    runs = runs[runs["technique"].isin(TECHNIQUES)]
    parts = []
    for technique in TECHNIQUES:
        ended = (runs.loc[runs["technique"] == technique, "stopped"].astype(str) != "").to_numpy()
        if ended.any():
            parts.append(f"{ended.sum()} of {len(ended)} runs with {technique_name(technique)}")
    if not parts:
        return ""
    reason = "end before ratio 50, because a layer would have no weight left"
    return f"\n\n{' and '.join(parts)} {reason}; the seeds of a row are those that get so far."
