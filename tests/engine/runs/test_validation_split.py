"""A run keeps what each of its networks says of its validation split, in eight bits too, and after any interruption."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load, save

from engine.run_spec import Progress, RunSpec
from engine.runs.run import run_experiment
from engine.runs.workspace import open_workspace
from engine.specs.checks import validate_spec
from engine.store.files import PLACEHOLDER, embed_checksum
from engine.store.study import Study, examples_name
from engine.store.verification.verify import verify_study
from engine.training.evaluation import evaluate_network
from tests.engine.runs.test_run import ROOT, TINY, contents, run_in


def test_it_is_what_the_kept_networks_say_of_the_rows_that_were_held_out(tmp_path: Path) -> None:
    spec = validate_spec(replace(TINY, levels=2, keep_checkpoints=True))
    study, workspace = run_in(tmp_path, spec), open_workspace(spec, ROOT, "cpu")
    levels, predictions, rows = study.validation(spec.key)
    order = np.argsort(workspace.validation_rows)
    assert levels.tolist() == [0, 1, 2] and not set(rows) & set(workspace.rows)
    np.testing.assert_array_equal(rows, workspace.validation_rows[order])
    np.testing.assert_array_equal(study.training_examples(examples_name(spec))["label"], workspace.dataset.train.labels)
    network = workspace.new_network(spec)
    for level in (1, 2):
        weights = load(study.run_file(spec.key, f"checkpoints/level-{level:03d}.safetensors"))
        network.load_state_dict({name.removeprefix("weights/"): torch.from_numpy(w) for name, w in weights.items()})
        here = evaluate_network(network, workspace.validation).prediction[order]
        np.testing.assert_array_equal(predictions[level], here)
    assert verify_study(study) == []


def test_networks_in_eight_bits_have_it_too(tmp_path: Path) -> None:
    spec = validate_spec(replace(TINY, technique="int8_dynamic", treatment="finetune", levels=20))
    study = run_in(tmp_path, spec)
    assert study.validation(spec.key)[1].shape == (2, len(open_workspace(spec, ROOT, "cpu").validation))
    assert verify_study(study) == []


@pytest.mark.parametrize("kept", ["dense/*.outcome", "work/*/level-*.outcome"])
def test_work_of_an_engine_that_kept_none_is_made_again(tmp_path: Path, kept: str) -> None:
    spec = validate_spec(TINY)
    run_in(tmp_path / "calm", spec)
    interrupt(spec, study := Study(tmp_path / "older"))
    for path in study.path.glob(kept):
        arrays = load(path.read_bytes())
        del arrays["validation_prediction"]
        path.write_bytes(embed_checksum(save(arrays, {"sha256": PLACEHOLDER.decode()})))
    levels: list[int] = []
    run_experiment(spec, study, ROOT, "cpu", lambda progress: levels.append(progress.level))
    assert levels == ([0, 3, 4] if kept.startswith("dense") else [1, 2, 3, 4])
    assert contents(study.path) == contents(tmp_path / "calm")


def interrupt(spec: RunSpec, study: Study) -> None:
    def stop(progress: Progress) -> None:
        if progress.level == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_experiment(spec, study, ROOT, "cpu", stop)
