"""Runs whose rate falls or that keep the best epoch: as resumable as others, with gradual cuts and with mitigation."""

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from engine.run_spec import Progress, RunSpec
from engine.runs.run import run_experiment
from engine.specs.checks import validate_spec
from engine.specs.protocol import protocol
from engine.store.study import Study
from engine.store.verification.verify import verify_study
from tests.engine.runs.test_run import ROOT, TINY, contents, run_in

BOTH = replace(TINY, technique="l1_unstructured", rate_schedule="cosine", kept_epoch="best", epochs=3)
GRADUAL = replace(
    BOTH, schedule="gradual", sparsities=(0.5, 0.9), levels=20, begin_step=5, end_step=25, every_steps=5, epochs=4
)


ADAM = replace(BOTH, optimizer="adam", learning_rate=0.002, momentum=0.0)


@pytest.mark.parametrize(
    "spec", [BOTH, GRADUAL, replace(BOTH, mitigation="both"), ADAM], ids=["plain", "gradual", "fair", "adam"]
)
def test_an_interrupted_run_ends_like_an_uninterrupted_one(tmp_path: Path, spec: RunSpec) -> None:
    spec = validate_spec(spec)
    calm = run_in(tmp_path / "calm", spec)

    def stop(progress: Progress) -> None:
        if progress.level == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_experiment(spec, Study(tmp_path / "stopped"), ROOT, "cpu", stop)
    run_in(tmp_path / "stopped", spec)
    assert contents(tmp_path / "stopped") == contents(tmp_path / "calm")
    assert verify_study(calm) == []


def test_gradual_runs_reach_their_sparsities_with_the_best_epoch(tmp_path: Path) -> None:
    levels = run_in(tmp_path, GRADUAL).levels()
    assert levels["sparsity"].to_numpy() == pytest.approx([0, 0.5, 0.9], abs=0.01)


def test_what_mitigation_notes_is_the_same_whichever_epoch_is_kept(tmp_path: Path) -> None:
    spec = validate_spec(replace(TINY, mitigation="before", epochs=3, levels=1))
    rows = [
        run_in(tmp_path, replace(spec, kept_epoch=epoch)).run_table(replace(spec, kept_epoch=epoch).key, "multipliers")
        for epoch in ("last", "best")
    ]
    pd.testing.assert_frame_equal(*rows)


def test_unlike_trainings_have_unlike_words() -> None:
    assert protocol(BOTH).endswith("rate schedule cosine, kept epoch best")
