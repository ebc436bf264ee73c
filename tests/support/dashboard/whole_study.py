"""A made-up study in which every page has something to show: beside its runs stand some of the study that ships, which
were diagnosed and mitigated."""

import shutil
from pathlib import Path
from typing import Any

from engine.store.study import Study, examples_name
from tests.support.studies import make_study

SHIPPED = Path(__file__).resolve().parents[3] / "data" / "demo"
ARMS = ((0, "none"), (1, "none"), (0, "before"), (1, "before"))
"""Seed and mitigation of the runs that are taken: 24 models."""


def make_whole_study(path: Path, **settings: Any) -> Study:
    """A study in this folder by the fields of `Plan`, with diagnosed runs of two arms; what is there
    already stays."""
    study, shipped = make_study(path, **settings), Study(SHIPPED)
    for key in shipped.runs():
        spec = shipped.run_record(key).spec
        if spec.diagnose and spec.dataset == "fashion-mnist" and (spec.seed, spec.mitigation) in ARMS:
            shutil.copytree(SHIPPED / "runs" / key, study.path / "runs" / key)
            for part in (f"{examples_name(spec)}.parquet", f"{examples_name(spec)}.classes.parquet"):
                if not (study.path / "examples" / part).exists():
                    shutil.copy(SHIPPED / "examples" / part, study.path / "examples" / part)
    return study
