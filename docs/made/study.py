"""The study that ships, as the documents ask it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from engine.analysis.columns import EXPERIMENT
from engine.analysis.members.accuracy import member_accuracy
from engine.analysis.members.seed_spread import seed_changes
from engine.run_spec import RunSpec
from engine.specs.experiment_names import names_in_study
from engine.store import catalog
from engine.store.study import Study
from pages.shared.formats import unmarked
from pages.shared.protocol import difference_sentence

TOP = Path(__file__).resolve().parents[2]
LATER = "not in the study yet"
MAGNITUDE = {"technique": "global_unstructured", "treatment": "rewind"}
AT_ONCE = "at once to 50, 75, 90, 95, 98 %, 10 epochs, 5 after pruning, batch size 128"
"""Five ratios of digits and clothes."""
CLOTHES = {**MAGNITUDE, "protocol": "3 epochs"}
WRITERS = {**MAGNITUDE, "protocol": "10 epochs, crop 2"}
PAPER = {**MAGNITUDE, "protocol": "30 epochs, crop 4, flip"}


@dataclass(frozen=True)
class Demo:
    """The study that ships, opened once."""

    study: Study
    levels: pd.DataFrame
    classes: pd.DataFrame
    control_levels: pd.DataFrame
    control_classes: pd.DataFrame

    def of(self, table: pd.DataFrame, **wanted: object) -> pd.DataFrame:
        """The rows whose columns have these values; `protocol` may be a part of it."""
        keep = np.ones(len(table), bool)
        for name, value in wanted.items():
            column = table[name].astype(str)
            keep &= (
                column.str.contains(str(value), regex=False) if name == "protocol" else column == str(value)
            ).to_numpy()
        rows = table[keep].copy()
        for name in rows.select_dtypes("category"):
            rows[name] = rows[name].cat.remove_unused_categories()
        return rows

    def experiment_name(self, row: Mapping[str, object]) -> str:
        """The short name of a row's experiment; network, data set and protocol where it has none."""
        place = tuple(str(row[column]) for column in EXPERIMENT)
        return names_in_study(self.study.info).get(place, f"{row['network']} on {row['dataset']}, {row['protocol']}")

    def spec(self, **wanted: object) -> RunSpec | None:
        """The settings of one of these runs; None where there is none."""
        runs = self.of(self.levels, **wanted)["run"].astype(str)
        return None if runs.empty else self.study.run_record(runs.iloc[0]).spec

    def shortened(self, **wanted: object) -> str:
        """How the protocol of these runs differs from the paper's, as the page Method says it."""
        spec, seeds = self.spec(**wanted), self.of(self.levels, **wanted)["seed"].nunique()
        return LATER if spec is None else unmarked(difference_sentence(spec, seeds))

    def writers(self, level: int, **wanted: object) -> pd.DataFrame | None:
        """Accuracy of every writer, dense and at a level, mean over the seeds of these runs."""
        found = self.populations(level, dataset="qmnist", split="writers", **wanted)
        return None if found is None else member_accuracy(self.study.examples("qmnist-writers"), *found, "writer")

    def writer_seeds(self, level: int, table: pd.DataFrame, **wanted: object) -> np.ndarray | None:
        """Changes of the writers of the table seed by seed: (seeds, writers)."""
        found = self.populations(level, dataset="qmnist", split="writers", **wanted)
        examples = self.study.examples("qmnist-writers")
        return None if found is None else seed_changes(examples, *found, "writer", table["writer"])

    def populations(self, level: int, **wanted: object) -> tuple[np.ndarray, np.ndarray] | None:
        """What the networks of these runs say of every example, dense and at a level: (runs, examples) each."""
        runs = sorted(self.of(self.levels, level=level, **wanted)["run"].astype(str).unique())
        if not runs:
            return None
        dense, compressed = [], []
        for run in runs:
            numbers, said = self.study.prediction_matrix(run)
            dense.append(said[list(numbers).index(0)])
            compressed.append(said[list(numbers).index(level)])
        return np.stack(dense), np.stack(compressed)


def open_demo() -> Demo:
    """The shipped study."""
    study = Study(TOP / "data" / "demo")
    found = catalog.refresh(study)
    return Demo(study, found.levels, found.classes, found.control_levels, found.control_classes)


def markdown(rows: pd.DataFrame) -> str:
    """The rows as markdown."""
    lines = [" | ".join(map(str, rows.columns)), " | ".join("---" for _ in rows.columns)]
    lines += [" | ".join(map(str, row)) for row in rows.itertuples(index=False)]
    return "\n".join(f"| {line} |" for line in lines)
