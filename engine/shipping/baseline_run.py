"""What a run of a study is compared with: the same training, unpruned, where that is recorded, else its own start."""

import pandas as pd

from engine.analysis.columns import EXPERIMENT
from engine.analysis.curves.baseline import baselines
from engine.analysis.curves.controls import Controls
from engine.pruning.techniques import untrained_techniques
from engine.store import catalog
from engine.store.study import Study


def baseline_of(study: Study, key: str, level: int) -> tuple[str, int]:
    """Run and level of the baseline of a run at a level."""
    tables = catalog.refresh(study)
    rows = tables.levels[(tables.levels["run"].astype(str) == key).to_numpy()]
    if rows.empty:  # a control itself
        return key, 0
    controls = [_of_experiment(table, rows) for table in (tables.control_levels, tables.control_classes)]
    pairs = baselines(rows, Controls(controls[0], controls[1], untrained=untrained_techniques()))
    pair = pairs[(pairs["level"] == level).to_numpy()]
    return (key, 0) if pair.empty else (str(pair["baseline"].iloc[0]), int(pair["baseline_level"].iloc[0]))


def _of_experiment(table: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the experiment of these."""
    for name in EXPERIMENT:
        table = table[(table[name].astype(str) == str(rows[name].iloc[0])).to_numpy()]
    return table
