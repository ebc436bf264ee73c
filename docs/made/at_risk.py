"""Who was at risk before pruning, experiment by experiment, beside who was lost."""

import numpy as np
import pandas as pd

from docs.made.study import Demo, markdown
from engine.analysis.columns import EXPERIMENT
from engine.analysis.examples.at_risk import SCORES, SHARES, at_risk_table, disagreement, lost, small_margin
from engine.store.study import examples_name
from pages.shared import formats

TECHNIQUE = "global_unstructured"
SPARSITIES = (0.90, 0.98)
NEAR = 0.03
"""How far a level's sparsity may lie from those."""


def risk_table(demo: Demo) -> str:
    """One row per experiment and treatment of global magnitude pruning, score and sparsity."""
    rows = []
    plain = demo.of(demo.levels, technique=TECHNIQUE, mitigation="none")
    for key, models in plain.groupby([*EXPERIMENT, "treatment"], observed=True, sort=False):
        means = models[models["level"] > 0].groupby("level")["sparsity"].mean()
        for asked in SPARSITIES:
            away = (means - asked).abs()
            if len(away) and away.min() <= NEAR:
                level = int(away.idxmin())
                runs = sorted(models.loc[models["level"] == level, "run"].astype(str).unique())
                name = f"{demo.experiment_name(dict(zip(EXPERIMENT, key, strict=False)))}, {key[-1]}"
                rows += [(name, formats.percent(means[level]), *cells) for cells in _cells(demo, runs, level)]
    heads = [
        "experiment",
        "pruned",
        "at risk by",
        *(f"top {100 * share:g} %" for share in SHARES),
        "blindly",
        "networks",
    ]
    return markdown(pd.DataFrame(rows, columns=heads))


def _cells(demo: Demo, runs: list[str], level: int) -> list[tuple[str, ...]]:
    """Per score: its name, precision in each top share, chance, networks."""
    labels = demo.study.examples(examples_name(demo.study.run_record(runs[0]).spec))["label"].to_numpy()
    said = [dict(zip(*demo.study.prediction_matrix(run), strict=True)) for run in runs]
    dense, pruned = (np.stack([levels[at] for levels in said]) for at in (0, level))
    scores = {"disagreement": disagreement(dense, int(labels.max()) + 1)}
    margins = [margin for run in runs if (margin := demo.study.dense_margins(run)) is not None]
    if len(margins) == len(runs):
        scores["margin"] = small_margin(np.stack(margins))
    return [
        (
            SCORES[str(score)].label.lower(),
            *(_cell(row) for row in part.to_dict("records")),
            formats.percent(part["chance"].iloc[0]),
            str(part["n_models"].iloc[0]),
        )
        for score, part in at_risk_table(scores, lost(labels, dense, pruned)).groupby("score", sort=False)
    ]


def _cell(row: dict[str, float]) -> str:
    half = (row["high"] - row["low"]) / 2
    return formats.percent(row["precision"]) + (f" ± {100 * half:.1f}" if half == half else "")
