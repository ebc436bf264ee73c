"""What a cut alone costs: recorded before any training, for classes and groups, the same after any interruption."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.numpy import load, save

from engine.pruning.masks import Cut, apply_masks, cut_masks, full_masks, prunable
from engine.pruning.techniques import TECHNIQUES
from engine.runs.checkpoints import load_states
from engine.runs.run import run_experiment
from engine.runs.workspace import open_workspace
from engine.specs.checks import validate_spec
from engine.specs.dense_key import dense_key
from engine.store.files import PLACEHOLDER, embed_checksum
from engine.store.study import Study
from engine.store.verification.verify import verify_study
from engine.training.evaluation import evaluate_network
from engine.training.seeding import generator
from tests.engine.runs.test_run import ROOT, TINY, contents, run_in
from tests.engine.runs.test_validation_split import interrupt

ONCE = replace(TINY, treatment="finetune", schedule="oneshot", sparsities=(0.3, 0.6), levels=20)


@pytest.mark.parametrize("treatment", ["finetune", "rewind"])
def test_it_is_what_the_pruned_dense_network_says_before_it_trains(tmp_path: Path, treatment: str) -> None:
    spec = validate_spec(replace(ONCE, treatment=treatment))
    study, workspace = run_in(tmp_path, spec), open_workspace(spec, ROOT, "cpu")
    losses, classes = (study.run_table(spec.key, name) for name in ("losses", "classes"))
    np.testing.assert_allclose(losses["loss"], classes["loss"])
    np.testing.assert_array_equal(losses[["n", "correct"]], classes[["n", "correct"]])
    assert losses.loc[losses["level"] == 0, ["cut_loss", "cut_correct"]].isna().all(axis=None)
    states = load_states(study.dense_file(dense_key(spec)), torch.device("cpu"))
    assert states is not None
    labels = workspace.dataset.test.labels
    for level, share in enumerate(spec.sparsities, 1):
        network = workspace.new_network(spec)
        network.load_state_dict(states["trained"])
        how = Cut(TECHNIQUES[spec.technique], share, generator(spec.seed, level, "prune"), spec.weight_decay)
        apply_masks(network, cut_masks(prunable(network), full_masks(network), how, None))
        said = evaluate_network(network, workspace.test)
        kept = losses[losses["level"] == level]
        by_class = pd.DataFrame({"loss": said.loss.astype(float), "right": said.prediction == labels}).groupby(labels)
        np.testing.assert_allclose(kept["cut_loss"], by_class["loss"].mean())
        np.testing.assert_array_equal(kept["cut_correct"], by_class["right"].sum())


def test_a_control_cuts_nothing_and_a_gradual_cut_has_no_moment(tmp_path: Path) -> None:
    study = run_in(tmp_path, control := validate_spec(replace(ONCE, technique="unpruned")))
    losses = study.run_table(control.key, "losses")
    dense = losses.loc[losses["level"] == 0, "loss"]
    for level in (1, 2):
        np.testing.assert_array_equal(losses.loc[losses["level"] == level, "cut_loss"], dense)
        assert (losses.loc[losses["level"] == level, "loss"].to_numpy() != dense).all()
    gradual = replace(ONCE, schedule="gradual", begin_step=2, end_step=10, every_steps=4, batch_size=64)
    run_in(tmp_path, gradual := validate_spec(gradual))
    assert study.run_table(gradual.key, "losses")["cut_loss"].isna().all()
    assert verify_study(study) == []


def test_diagnosed_samples_have_theorem_1_right_after_the_cut(tmp_path: Path) -> None:
    spec = validate_spec(replace(ONCE, diagnose=("class",), sparsities=(0.02, 0.6)))
    rows = run_in(tmp_path, spec).run_table(spec.key, "groups")
    small, large = (rows[rows["level"] == level] for level in (1, 2))
    assert rows.loc[rows["level"] == 0, "cut_bound"].isna().all()
    assert (small["cut_excessive_loss"] <= small["cut_bound"]).all()  # a small cut: the rest of third order is nothing
    assert small["cut_weight_change"].nunique() == 1
    assert (small["cut_weight_change"] > 0).all() and small["cut_weight_change"].max() < small["weight_change"].min()
    assert large["cut_excessive_loss"].abs().median() > 10 * small["cut_excessive_loss"].abs().median()


def test_interrupted_or_begun_by_an_older_engine_it_is_the_same(tmp_path: Path) -> None:
    spec = validate_spec(replace(TINY, diagnose=("class",)))
    run_in(tmp_path / "calm", spec)
    for name in ("resumed", "older"):
        interrupt(spec, study := Study(tmp_path / name))
        for path in study.path.glob("work/*/level-*.outcome") if name == "older" else ():
            arrays = load(path.read_bytes())
            arrays["facts"] = np.frombuffer(arrays["facts"].tobytes().replace(b'"losses"', b'"sizes"'), np.uint8)
            path.write_bytes(embed_checksum(save(arrays, {"sha256": PLACEHOLDER.decode()})))
        levels: list[int] = []
        run_experiment(spec, study, ROOT, "cpu", lambda progress, seen=levels: seen.append(progress.level))
        assert levels == ([3, 4] if name == "resumed" else [1, 2, 3, 4])
        assert contents(study.path) == contents(tmp_path / "calm")
