"""What a study holds: its figures, its experiments, and the runs that are not whole."""

from collections.abc import Mapping

import pandas as pd

from engine.analysis.columns import EXPERIMENT
from engine.errors import PruneScopeError
from engine.store.catalog import Catalog
from engine.store.study import Study
from pages.shared import formats
from pages.shared.cache.catalog import Experiment, n_models
from pages.shared.names import dataset_name, network_name

EMPTIED = "would empty layer"
"""What runs say that stopped because a layer had no weights left to cut."""

SHOWN = 3
"""How many of the runs that are not whole are named."""


def about(study: Study) -> str:
    """What the study says of itself; empty where it says nothing."""
    try:
        words = [str(study.info.get(key, "")).strip() for key in ("title", "description")]
    except PruneScopeError as error:
        return str(error)
    return " ".join(text if text.endswith(".") else f"{text}." for text in words if text)


def figures(catalog: Catalog) -> dict[str, tuple[str, str]]:
    """Four counts with their explanation: runs, models, seeds, data sets."""
    runs = _pruned(catalog)
    return {
        "Runs": (formats.count(len(runs)), "A run is one network, trained and then pruned level by level."),
        "Models": (
            formats.count(int(catalog.n_levels[~catalog.is_control & ~catalog.is_repeat].sum())),
            "A model is one run at one level. The study keeps what each says of every test example.",
        ),
        "Seeds": (
            formats.count(runs["seed"].nunique()),
            "The same training with another seed differs by chance alone.",
        ),
        "Data sets": (formats.count(runs["dataset"].nunique()), ""),
    }


def experiment_table(catalog: Catalog, chosen: Experiment, called: Mapping[Experiment, str]) -> pd.DataFrame:
    """One row per experiment, the one of most models first; the one that is shown is marked. Cells are markdown."""
    groups = _pruned(catalog).groupby(list(EXPERIMENT), observed=True)
    table = groups.agg(
        runs=("run", "size"), techniques=("technique", "nunique"), seeds=("seed", "nunique"), seconds=("seconds", "sum")
    )
    models = n_models(catalog)
    table = table.reindex(models.index).assign(models=models).reset_index()
    rows = list(table[list(EXPERIMENT)].itertuples(index=False, name=None))
    here = [Experiment(*map(str, row)) == chosen for row in rows]
    return pd.DataFrame(
        {
            "Experiment": [
                f"**{formats.plain(called[Experiment(*map(str, row))])}** (shown here)"
                if is_here
                else formats.plain(called[Experiment(*map(str, row))])
                for row, is_here in zip(rows, here, strict=True)
            ],
            "Data set": [formats.plain(dataset_name(str(name))) for name in table["dataset"]],
            "Split": [formats.plain(name) for name in table["split"]],
            "Network": [formats.plain(network_name(str(name))) for name in table["network"]],
            **{name.capitalize(): table[name].map(formats.count) for name in ("techniques", "seeds", "runs", "models")},
            "Hours": [f"{seconds / 3600:.1f}" for seconds in table["seconds"]],
        }
    )


def not_whole(catalog: Catalog) -> list[str]:
    """Sentences on runs that could not be read and runs that stopped before their last level."""
    sentences = []
    if catalog.broken:
        sentences.append(f"{_several(len(catalog.broken))} left out: {_some(list(catalog.broken.values()))}")
    stopped = catalog.runs[catalog.runs["stopped"].astype(str) != ""]
    if len(stopped):
        reasons = list(dict.fromkeys(map(str, stopped["stopped"])))
        emptied = all(EMPTIED in reason for reason in reasons)
        why = " because the next cut would have emptied a layer." if emptied else f": {_some(reasons)}"
        sentences.append(f"{_several(len(stopped))} ended early{why}")
    return sentences


def _pruned(catalog: Catalog) -> pd.DataFrame:
    """The runs that are no controls."""
    return catalog.runs[~catalog.is_control & ~catalog.is_repeat]


def _several(n: int) -> str:
    return "1 run" if n == 1 else f"{formats.count(n)} runs"


def _some(reasons: list[str]) -> str:
    more = len(reasons) - SHOWN
    return " ".join(reasons[:SHOWN]) + (f" And {formats.count(more)} more." if more > 0 else "")
