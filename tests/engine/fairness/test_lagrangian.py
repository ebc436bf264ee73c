"""Mitigation: off it is plain training bit for bit, on it closes gaps; arms train what they say; runs resume."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.fairness.group_means import ReplayBuffers
from engine.fairness.lagrangian import ConstrainedGroups, Lagrangian, negative_weights
from engine.pruning.masks import full_masks
from engine.run_spec import Progress, RunSpec
from engine.runs.run import run_experiment
from engine.runs.workspace import open_workspace
from engine.specs.arithmetic import EAGER, SETTING
from engine.specs.checks import validate_spec
from engine.specs.mitigation import CONSTRAINTS, MITIGATIONS, dual_step
from engine.store.study import Study
from engine.training.device import reproducible
from engine.training.evaluation import evaluate_network
from engine.training.loop import TrainingJob, train_network
from engine.training.seeding import generator
from engine.training.split import Split, grouped_batches, make_split

ROOT = Path("unused")
TINY = RunSpec(
    "digits", "lenet", "global_unstructured", "finetune", levels=2, epochs=2, learning_rate=0.1, batch_size=64
)
TOY = RunSpec("digits", "lenet", "global_unstructured", mitigation="before", batch_size=1000, learning_rate=0.5)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Several wait for each other longer than these small networks take."""
    with reproducible(torch.device("cpu")):
        yield


def two_groups(n: int = 1000) -> tuple[Split, ConstrainedGroups]:
    """One image of two pixels each: the many (90 %) are told apart by the first, the few by the second, reversed."""
    draw = np.random.default_rng(0)
    labels = draw.integers(0, 2, n)
    few = np.arange(n) < n // 10
    images = np.clip(draw.normal(128, 30, (n, 1, 1, 2)), 0, 255)
    images[~few, 0, 0, 0] += 30 * (2 * labels[~few] - 1)
    images[few, 0, 0, 0] -= 20 * (2 * labels[few] - 1)
    images[few, 0, 0, 1] += 30 * (2 * labels[few] - 1)
    pixels = np.repeat(np.clip(images, 0, 255).astype(np.uint8), 2, axis=2)
    split = replace(
        make_split(pixels, labels, pixels, 2, torch.device("cpu")), groups=torch.from_numpy(few.astype(int))
    )
    return split, ConstrainedGroups("crowd", ("many", "few"), torch.tensor([0.9, 0.1]))


def linear() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(4, 2))


def group_losses(network: nn.Module, split: Split) -> np.ndarray:
    loss = evaluate_network(network, split).loss
    return np.array([loss[split.groups.numpy() == code].mean() for code in (0, 1)])


def trained_toy(spec: RunSpec, epochs: int = 150) -> tuple[nn.Module, Split, Lagrangian]:
    split, members = two_groups()
    network, dual = linear(), Lagrangian(spec, members)
    train_network(network, split, full_masks(network), TrainingJob(spec, epochs, generator(0, 0, "o"), objective=dual))
    return network, split, dual


def test_the_dual_closes_most_of_the_gap_of_two_groups() -> None:
    plain, fair = (trained_toy(replace(TOY, dual_step=step))[:2] for step in (0.0, 0.05))
    gap = [abs(float(np.diff(group_losses(*pair))[0])) for pair in (plain, fair)]
    assert gap[0] > 0.3
    assert gap[1] < 0.2 * gap[0]


def test_the_dual_closes_most_of_the_gap_in_small_batches() -> None:
    plain, fair = (
        trained_toy(replace(TOY, dual_step=step, batch_size=32, learning_rate=0.1), 30)[:2] for step in (0.0, 0.05)
    )
    gap = [abs(float(np.diff(group_losses(*pair))[0])) for pair in (plain, fair)]
    assert gap[1] < 0.2 * gap[0]


def test_equal_gradients_are_more_equal_with_the_full_constraint() -> None:
    def gap(spec: RunSpec) -> float:
        network, split, _ = trained_toy(spec, 60)
        norms = []
        for code in (0, 1):
            part = split.part((split.groups == code).nonzero().flatten())
            loss = functional.cross_entropy(network(part.inputs(part.images)), part.labels)
            norms.append(
                float(torch.cat([g.flatten() for g in torch.autograd.grad(loss, network.parameters())]).norm())
            )
        return abs(norms[0] - norms[1])

    full = replace(TOY, constraint="full", learning_rate=0.2)
    assert gap(replace(full, dual_step=0.05)) < 0.5 * gap(replace(full, dual_step=0.0))


def test_a_bounded_drop_holds_the_group_that_would_lose_most() -> None:
    """Both groups were right before; afterwards only one weight is left to train, which serves the many."""
    split, members = two_groups()
    members = replace(members, dense=torch.tensor([0.8, 0.8, 0.8]))

    def drops(step: float) -> np.ndarray:
        network = linear()
        spec = replace(TOY, mitigation="after", constraint="drop", dual_step=step, tolerance=0.02)
        dual = Lagrangian(spec, members)
        train_network(network, split, full_masks(network), TrainingJob(spec, 100, generator(0, 0, "o"), objective=dual))
        chance = evaluate_network(network, split).probability
        means = [chance[split.groups.numpy() == code].mean() for code in (0, 1)]
        return 0.8 - np.array([*means, chance.mean()])

    plain, bounded = drops(0.0), drops(1.0)
    assert plain[1] - plain[2] > 0.1
    assert bounded[1] - bounded[2] < 0.05
    assert bounded[:2].max() < plain[:2].max()


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_the_loss_of_a_constraint_that_is_off_is_the_plain_loss_bit_for_bit(constraint: str) -> None:
    split, members = two_groups()
    members = replace(members, dense=torch.tensor([0.8, 0.8, 0.8]))
    spec = replace(TOY, constraint=constraint, dual_step=0.0, batch_size=50)
    plain, off = linear(), linear()
    train_network(plain, split, full_masks(plain), TrainingJob(spec, 2, generator(0, 0, "o")))
    dual = Lagrangian(spec, members)
    train_network(off, split, full_masks(off), TrainingJob(spec, 2, generator(0, 0, "o"), objective=dual))
    for mine, theirs in zip(off.parameters(), plain.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    assert not dual.multipliers.any() and len(dual.rows) == 2 * 2 * len(CONSTRAINTS[constraint].terms)


def test_the_mitigated_loss_is_the_formula_by_hand() -> None:
    split, members = two_groups()
    network, spec = linear(), replace(TOY, batch_size=1000)
    dual = Lagrangian(spec, members)
    dual.multipliers = torch.tensor([[0.3, 0.7]])
    images, labels, groups = next(grouped_batches(split, spec, generator(0, 0, "o")))
    losses = functional.cross_entropy(network(images), labels, reduction="none")
    gaps = [(losses[groups == code].mean() - losses.mean()).abs() for code in (0, 1)]
    torch.testing.assert_close(
        dual.loss(network, images, labels, groups), losses.mean() + 0.3 * gaps[0] + 0.7 * gaps[1]
    )


def test_multipliers_rise_by_step_times_violation_and_are_noted() -> None:
    spec = replace(TOY, dual_step=0.2, dual_decay=0.5)
    rows = pd.DataFrame(trained_toy(spec, 3)[2].rows)
    few = rows[rows["group"] == "few"].set_index("epoch")
    np.testing.assert_allclose(few["violation"], (few["value"] - few["whole"]).abs(), rtol=1e-5)
    expected = np.cumsum([0.0, *(dual_step(spec, epoch) * few.loc[epoch, "violation"] for epoch in (1, 2))])
    np.testing.assert_allclose(few["multiplier"], expected, rtol=1e-5)
    assert [dual_step(spec, epoch) for epoch in (1, 2, 3)] == pytest.approx([0.2, 0.2 / 1.5, 0.1])


def test_groups_without_members_change_nothing() -> None:
    split, members = two_groups()
    more = replace(members, names=("many", "few", "nobody"), shares=torch.tensor([0.9, 0.1, 0.0]))
    found: list[Tensor] = []
    for who in (members, more):
        network, spec = linear(), replace(TOY, dual_step=0.5, batch_size=50)
        train_network(
            network,
            split,
            full_masks(network),
            TrainingJob(spec, 3, generator(0, 0, "o"), objective=Lagrangian(spec, who)),
        )
        found.append(torch.cat([parameter.detach().flatten() for parameter in network.parameters()]))
    torch.testing.assert_close(found[0], found[1])
    assert found[0].isfinite().all()


@pytest.mark.parametrize(("multipliers", "negative"), [([0.3, 0.4], ""), ([0.0, 1.2], "many"), ([9.5, 0.1], "many")])
def test_a_negative_weight_is_on_record_and_warned_of(multipliers: list[float], negative: str) -> None:
    """The weights on record are those that autograd finds in the loss; the few are worse off."""
    network, split, _ = trained_toy(replace(TOY, dual_step=0.0), 20)
    members = two_groups()[1]
    dual = Lagrangian(TOY, members)
    dual.multipliers = torch.tensor([multipliers])
    images, labels, groups = next(grouped_batches(split, TOY, generator(0, 0, "o")))
    dual.loss(network, images, labels, groups)
    dual.end_epoch(1)
    means = torch.tensor(group_losses(network, split)).float().requires_grad_()
    whole = means @ members.shares
    expected = torch.autograd.grad(whole + torch.tensor(multipliers) @ (means - whole).abs(), means)[0]
    assert [row["weight"] for row in dual.rows] == pytest.approx(expected.tolist(), abs=1e-4)
    assert bool((expected < 0).any()) == bool(negative)
    warning = negative_weights(dual.rows)
    assert warning.startswith(f"Mitigation gave a negative weight to {negative}: ") if negative else not warning


def test_a_replay_buffer_holds_the_latest_members_of_each_group_and_weighs_groups_by_share() -> None:
    buffers = ReplayBuffers(3, torch.tensor([0.75, 0.25, 0.0]))
    buffers.add(torch.tensor([0.1, 0.2, 0.9, 0.5]), torch.tensor([0, 0, 1, -1]))
    buffers.add(torch.tensor([0.3, 0.4]), torch.tensor([0, 0]))
    torch.testing.assert_close(buffers.groups(), torch.tensor([0.3, 0.9, torch.nan]), equal_nan=True)
    assert float(buffers.whole()) == pytest.approx(0.75 * 0.3 + 0.25 * 0.9)


def test_replay_judges_a_small_group_by_steadier_means_and_bounds_its_drop() -> None:
    """In small batches the running mean of the few jumps from batch to batch, that of a buffer less."""
    split, members = two_groups()
    members = replace(members, dense=torch.tensor([0.8, 0.8, 0.8]))
    spec = replace(TOY, mitigation="after", constraint="drop", batch_size=25, learning_rate=0.1, tolerance=0.02)

    def drop(replay: int, step: float = 2.0) -> float:
        network, dual = linear(), Lagrangian(replace(spec, replay=replay, dual_step=step), members)
        job = TrainingJob(spec, 25, generator(0, 0, "o"), objective=dual)
        train_network(network, split, full_masks(network), job)
        chance = evaluate_network(network, split).probability
        return float(chance.mean() - chance[split.groups.numpy() == 1].mean())

    assert drop(0, step=0.0) > 0.1
    assert drop(40) < 0.06
    still, noise = linear(), {}
    for replay in (0, 60):
        dual = Lagrangian(replace(spec, replay=replay), members)
        seen = []
        for images, labels, groups in grouped_batches(split, replace(spec, batch_size=4), generator(1, 0, "o")):
            dual.loss(still, images, labels, groups)
            seen.append(float(dual._means(dual._running)[0][0, 1]))
        noise[replay] = float(np.nanstd(seen[125:]))
    assert noise[60] < 0.9 * noise[0]


# -- runs -------------------------------------------------------------------------------------------------------


def contents(study: Path) -> dict[str, str]:
    files = sorted(path for path in (study / "runs").rglob("*.parquet"))
    return {str(path.relative_to(study)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def run_in(folder: Path, spec: RunSpec) -> tuple[Study, str]:
    study = Study(folder)
    return study, run_experiment(spec, study, ROOT, "cpu").key


@pytest.fixture(scope="module")
def arms(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, dict[str, str]]:
    folder = tmp_path_factory.mktemp("arms")
    return Study(folder), {arm: run_in(folder, replace(TINY, mitigation=arm))[1] for arm in MITIGATIONS}


def test_arms_mitigate_the_levels_that_they_say(arms: tuple[Study, dict[str, str]]) -> None:
    study, keys = arms
    levels = {}
    for arm, key in keys.items():
        there = "multipliers.parquet" in study.run_record(key).files
        levels[arm] = set(study.run_table(key, "multipliers")["level"]) if there else set()
    assert levels == {"none": set(), "before": {0}, "after": {1, 2}, "both": {0, 1, 2}}
    assert len(list((study.path / "dense").glob("*.safetensors"))) == 2


def test_arms_share_what_they_share_and_differ_elsewhere(arms: tuple[Study, dict[str, str]]) -> None:
    study, keys = arms
    said = {arm: study.prediction_matrix(key)[1] for arm, key in keys.items()}
    assert (said["none"][0] == said["after"][0]).all() and (said["before"][0] == said["both"][0]).all()
    loss = study.levels().set_index(["mitigation", "level"])["loss"]
    assert loss["none", 0] == loss["after", 0] != loss["before", 0]
    assert loss["none", 1] != loss["after", 1]
    assert sorted(study.levels()["mitigation"].unique()) == sorted(MITIGATIONS)
    assert study.levels()["protocol"].nunique() == 1


def test_a_run_with_the_constraint_off_predicts_as_a_plain_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SETTING, EAGER)  # which is the step of the one with a constraint
    off, key = run_in(tmp_path / "off", replace(TINY, mitigation="both", dual_step=0.0))
    plain, plain_key = run_in(tmp_path / "plain", TINY)
    assert off.run_file(key, "predictions.parquet") == plain.run_file(plain_key, "predictions.parquet")


@pytest.mark.parametrize(("constraint", "replay"), [("loss", 0), ("drop", 0), ("drop", 20)])
def test_a_mitigated_and_diagnosed_run_resumes_bit_for_bit(
    tiny_root: Path, tmp_path: Path, constraint: str, replay: int
) -> None:
    spec = RunSpec("qmnist", "lenet", "global_unstructured", mitigation="after", constraint=constraint, replay=replay)
    spec = validate_spec(
        replace(spec, levels=2, epochs=2, mitigated_group="series", diagnose=("series",), dual_step=1.0)
    )
    run_experiment(spec, Study(tmp_path / "calm"), tiny_root, "cpu")

    def stop(progress: Progress) -> None:
        if progress.level == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_experiment(spec, Study(tmp_path / "stopped"), tiny_root, "cpu", stop)
    run_experiment(spec, Study(tmp_path / "stopped"), tiny_root, "cpu")
    assert contents(tmp_path / "stopped") == contents(tmp_path / "calm")
    names = {Path(name).name for name in contents(tmp_path / "calm")}
    assert {"groups.parquet", "multipliers.parquet"} < names


def test_diagnosing_changes_no_prediction(arms: tuple[Study, dict[str, str]], tmp_path: Path) -> None:
    study, keys = arms
    diagnosed, key = run_in(tmp_path, replace(TINY, diagnose=("class",)))
    plain = study.run_file(keys["none"], "predictions.parquet")
    assert diagnosed.run_file(key, "predictions.parquet") == plain
    groups = diagnosed.run_table(key, "groups")
    assert len(groups) == 3 * 10 and (groups["reason"] == "").all()
    classes = diagnosed.run_table(key, "classes")
    np.testing.assert_array_equal(groups["test_correct"], classes["correct"])
    np.testing.assert_allclose(groups["test_loss"], classes["loss"])


def test_a_group_column_is_mitigated_and_diagnosed(tiny_root: Path, tmp_path: Path) -> None:
    spec = RunSpec("qmnist", "lenet", "global_unstructured", mitigation="both", mitigated_group="series")
    spec = replace(spec, levels=1, epochs=2, diagnose=("class", "series"), dual_step=1.0)
    study = Study(tmp_path)
    key = run_experiment(spec, study, tiny_root, "cpu").key
    groups = study.run_table(key, "groups")
    assert set(groups["grouping"]) == {"class", "series"}
    workspace = open_workspace(validate_spec(spec), tiny_root, "cpu")
    by_series = groups[(groups["grouping"] == "series") & (groups["level"] == 0)]
    assert by_series["n"].sum() == len(workspace.training) and by_series["test_n"].sum() == len(workspace.test)
    rows = study.run_table(key, "multipliers")
    assert set(rows["grouping"]) == {"series"} and set(rows["epoch"]) == {1, 2}
    assert (rows.loc[rows["epoch"] == 1, "multiplier"] == 0).all()
    assert study.levels()["mitigation"].unique().tolist() == ["both, by series, dual step 1.0"]


def test_a_run_whose_multipliers_turn_a_weight_negative_says_so(tmp_path: Path) -> None:
    fierce = run_experiment(replace(TINY, mitigation="before", dual_step=3.0), Study(tmp_path), ROOT, "cpu")
    assert fierce.warned.startswith("Mitigation gave a negative weight to ")
    gentle = run_experiment(replace(TINY, mitigation="before", dual_step=0.001), Study(tmp_path), ROOT, "cpu")
    assert gentle.computed and not gentle.warned
