"""Schedules: how many levels a run has, how much each cuts, and how long it trains there."""

from dataclasses import replace

import pytest

from engine.pruning.schedules import n_epochs_after, planned_levels
from engine.pruning.techniques import TECHNIQUES, trains_after
from engine.run_spec import IMPORTED, RunSpec

SPEC = RunSpec("digits", "lenet", "l1_structured", "finetune", levels=3, share=0.5, epochs=4)
LISTED = replace(SPEC, schedule="oneshot", sparsities=(0.5, 0.9))


def test_each_level_cuts_its_share_of_what_remains() -> None:
    assert [level.sparsity for level in planned_levels(SPEC)] == [0.5, 0.75, 0.875]
    assert [level.share for level in planned_levels(LISTED)] == [0.5, 0.9]


@pytest.mark.parametrize("technique", TECHNIQUES)
@pytest.mark.parametrize("spec", [SPEC, LISTED, replace(SPEC, epochs_after=2)])
def test_a_techniques_row_says_what_its_levels_are(technique: str, spec: RunSpec) -> None:
    row, levels = TECHNIQUES[technique], planned_levels(replace(spec, technique=technique))
    assert len(levels) == (len(planned_levels(spec)) if row.trains_after else 1)
    assert all((level.sparsity == 0 == level.share) == (row.cuts == "nothing") for level in levels)
    epochs = n_epochs_after(replace(spec, technique=technique))
    assert epochs == ((spec.epochs_after or spec.epochs) if row.trains_after else 0)
    assert not row.is_control or row.trains_after


def test_predictions_of_others_have_no_plan() -> None:
    imported = RunSpec("own", "net", "theirs", schedule=IMPORTED, epochs=0)
    assert planned_levels(imported) == [] and trains_after("theirs") and n_epochs_after(imported) == 0
