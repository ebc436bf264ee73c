"""Is a shipped folder still what it was: whole, its answers as recorded, its decision in force?"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.datasets.dataset_table import Request, load_dataset
from engine.errors import PruneScopeError
from engine.run_spec import spec_from_settings
from engine.shipping.decision.laid_in import decision_status
from engine.shipping.model.model_files import ONNX
from engine.shipping.model.onnx_file import HOW_TO_INSTALL, missing_packages, onnx_answers, onnx_session
from engine.shipping.predictions import PREDICTIONS
from engine.shipping.ship_folder import wrong_files
from engine.shipping.shipped_record import Shipped, read_shipped
from engine.store.parquet import from_parquet
from engine.store.study import Study


@dataclass(frozen=True)
class Checked:
    """What is wrong, what could not be looked at, and what holds; one sentence each."""

    wrong: tuple[str, ...]
    unknown: tuple[str, ...]
    right: tuple[str, ...]


def check_shipped(folder: Path, root: Path, study: Study | None = None) -> Checked:
    """Look at the files first; what is damaged is asked nothing. With `study`, its decision is asked for there."""
    if not folder.is_dir():
        raise PruneScopeError(f"There is no folder {folder}.")
    if wrong := wrong_files(folder):
        return Checked(tuple(wrong), (), ())
    shipped = read_shipped(folder)
    right, wrong, unknown = ["Every file is as it was shipped."], list[str](), list[str]()
    said, holds = decision_status(folder, shipped, study)
    (unknown if holds is None else right if holds else wrong).append(said)
    try:
        n_equal, n = _answers(folder, shipped, root)
    except PruneScopeError as error:
        unknown.append(f"Its answers were not looked at: {error}")
    else:
        words = f"{n_equal:,} of {n:,} answers are those that were recorded when it was shipped"
        if n_equal < min(shipped.n_equal, n):
            wrong.append(f"It does not answer as it did: {words}, {shipped.n_equal:,} then.")
        else:
            right.append(f"{words}.")
    return Checked(tuple(wrong), tuple(unknown), tuple(right))


def _answers(folder: Path, shipped: Shipped, root: Path) -> tuple[int, int]:
    """How many of the model's answers are the recorded ones, of how many."""
    if not (folder / ONNX).is_file():
        raise PruneScopeError(f"there is no {ONNX} in the folder.")
    if missing := missing_packages():
        raise PruneScopeError(f"{', '.join(missing)} missing; {HOW_TO_INSTALL} installs it.")
    spec = spec_from_settings(shipped.settings)
    dataset = load_dataset(spec.dataset, root, Request(spec.split, spec.target, spec.groups, spec.image_size))
    recorded = recorded_answers(folder, shipped)
    if len(recorded) != len(dataset.test.labels):
        raise PruneScopeError(f"the data set here has {len(dataset.test.labels):,} examples, not {len(recorded):,}.")
    session = onnx_session((folder / ONNX).read_bytes())
    return int((onnx_answers(session, dataset.test.images) == recorded).sum()), len(recorded)


def recorded_answers(folder: Path, shipped: Shipped) -> np.ndarray:
    """The answers that were recorded, as numbers of classes."""
    rows = from_parquet((folder / PREDICTIONS).read_bytes(), PREDICTIONS).to_pandas()
    number = {name: code for code, name in enumerate(shipped.classes)}
    answers: np.ndarray = rows.loc[rows["model"] == "model", "prediction"].map(number).to_numpy()
    return answers
