"""Group weights: the formulas by hand, off is plain training, on closes gaps without a negative weight, runs resume."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from engine.errors import PruneScopeError
from engine.fairness.lagrangian import ConstrainedGroups
from engine.fairness.reweighting import OBJECTIVES, Reweighting, WorstGroup, mitigated_training
from engine.pruning.masks import full_masks
from engine.run_spec import Progress, RunSpec
from engine.runs.run import run_experiment
from engine.specs.checks import validate_spec
from engine.specs.mitigation import RULES, mitigation_words
from engine.store.study import Study
from engine.training.device import reproducible
from engine.training.loop import TrainingJob, train_network
from engine.training.seeding import generator
from engine.training.split import Split
from tests.engine.fairness.test_lagrangian import TINY, TOY, contents, group_losses, linear, two_groups

REWEIGHT = replace(TOY, mitigation_rule="reweight")
WORST = replace(TOY, mitigation_rule="worst")
GROUPS = ConstrainedGroups("crowd", ("many", "few", "nobody"), torch.tensor([0.75, 0.25, 0.0]))
CODES = torch.tensor([0, 0, 0, 1])


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    with reproducible(torch.device("cpu")):
        yield


def trained(spec: RunSpec, epochs: int) -> tuple[nn.Module, Split, Reweighting]:
    split, members = two_groups()
    network, weights = linear(), mitigated_training(spec, members)
    job = TrainingJob(spec, epochs, generator(0, 0, "o"), objective=weights)
    train_network(network, split, full_masks(network), job)
    return network, split, weights


def gap(spec: RunSpec, epochs: int) -> float:
    return abs(float(np.diff(group_losses(*trained(spec, epochs)[:2]))[0]))


def test_every_rule_has_what_trains_by_it() -> None:
    assert set(OBJECTIVES) == set(RULES)


def test_reweighted_groups_follow_the_formula_by_hand() -> None:
    weights = Reweighting(replace(REWEIGHT, eta=0.2), GROUPS)
    assert weights.example_weights(torch.tensor([1.0, 1.0, 1.0, 3.0]), CODES) is None
    weights.end_epoch(1)
    theta = 0.2 * np.array([(1 - 1.5) / 1.5, (3 - 1.5) / 1.5])
    expected = np.array([0.75, 0.25]) * np.exp(theta) / (np.array([0.75, 0.25]) * np.exp(theta)).sum()
    np.testing.assert_allclose(weights.weights, [*expected, 0], rtol=1e-6)
    losses = torch.tensor([0.5, 0.5, 2.0, 1.0])
    factors = weights.example_weights(losses, CODES)
    assert factors is not None
    by_group = expected[0] * losses[:3].mean() + expected[1] * losses[3]
    torch.testing.assert_close((factors * losses).mean(), by_group.float())
    weights.end_epoch(2)
    second = theta + 0.2 * np.array([(1 - 1.0) / 1.0, 0.0])
    np.testing.assert_allclose([row["multiplier"] for row in weights.rows[3:]], [*theta, 0], rtol=1e-6)
    np.testing.assert_allclose(weights.theta, [*second, 0], rtol=1e-6)
    assert [row["weight"] for row in weights.rows[:3]] == pytest.approx([0.75, 0.25, 0.0])


def test_the_worst_group_rule_is_group_dro_by_hand() -> None:
    """Exponentiated gradient from equal weights; the batch moves them before they weigh it."""
    weights = WorstGroup(replace(WORST, eta=0.3), GROUPS)
    losses = torch.tensor([1.0, 1.0, 1.0, 3.0])
    factors = weights.example_weights(losses, CODES)
    q = np.exp(0.3 * np.array([1.0, 3.0])) / np.exp(0.3 * np.array([1.0, 3.0])).sum()
    np.testing.assert_allclose(weights.weights, [*q, 0], rtol=1e-6)
    assert factors is not None
    torch.testing.assert_close((factors * losses).mean(), torch.tensor(q[0] * 1.0 + q[1] * 3.0).float())
    weights.example_weights(losses[:3], CODES[:3])  # nobody of the few: their estimate is 0, that of the many 1 / 0.75
    logs = np.log(q) + 0.3 * np.array([1 / 0.75, 0.0])
    np.testing.assert_allclose(weights.weights[:2], np.exp(logs) / np.exp(logs).sum(), rtol=1e-6)


@pytest.mark.parametrize("rule", ["reweight", "worst"])
def test_an_example_of_no_group_weighs_one_and_the_mean_weight_is_one(rule: str) -> None:
    members = replace(GROUPS, shares=torch.tensor([0.6, 0.2, 0.0]))
    weights = mitigated_training(replace(TOY, mitigation_rule=rule, eta=0.4), members)
    codes = torch.tensor([0, 0, 0, 1, -1])
    losses = torch.tensor([1.0, 1.0, 1.0, 3.0, 9.0])
    assert isinstance(weights, Reweighting)
    weights.example_weights(losses, codes)
    weights.end_epoch(1)
    factors = weights.example_weights(losses, codes)
    assert factors is not None and factors[-1] == 1
    assert float(factors.mean()) == pytest.approx(1)
    assert weights.rows[0]["whole"] == pytest.approx(3.0)


def test_a_step_of_zero_reweights_nothing_bit_for_bit() -> None:
    off = trained(replace(REWEIGHT, eta=0.0, batch_size=50), 3)[0]
    split, _ = two_groups()
    plain, spec = linear(), replace(TOY, batch_size=50)
    train_network(plain, split, full_masks(plain), TrainingJob(spec, 3, generator(0, 0, "o")))
    assert all(map(torch.equal, off.parameters(), plain.parameters()))


@pytest.mark.parametrize("settings", [{}, {"batch_size": 32, "learning_rate": 0.1}])
def test_both_rules_close_most_of_the_gap_and_no_weight_is_negative(settings: dict[str, float]) -> None:
    epochs = 150 if not settings else 30
    plain = gap(replace(REWEIGHT, eta=0.0, **settings), epochs)
    assert plain > 0.3
    for spec in (replace(REWEIGHT, eta=0.2), replace(WORST, eta=0.05)):
        spec = replace(spec, **settings)
        assert gap(spec, epochs) < 0.35 * plain, spec.mitigation_rule
        rows = trained(spec, 3)[2].rows
        assert all(row["weight"] >= 0 for row in rows)


# -- settings and runs ------------------------------------------------------------------------------------------------


def test_keys_and_words_of_existing_arms_stay() -> None:
    old = RunSpec("mnist", "lenet", "global_unstructured", mitigation="after", constraint="drop", tolerance=0.02)
    assert mitigation_words(old) == "after, drop, tolerance 0.02"
    new = replace(old, constraint="loss", tolerance=0.01, mitigation_rule="reweight", mitigated_group="series", eta=0.2)
    assert mitigation_words(new) == "after, reweight, by series, eta 0.2"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"eta": 0.2}, "eta has no meaning for the rule 'lagrangian'"),
        ({"mitigation_rule": "reweight", "dual_step": 1.0}, "dual_step has no meaning for the rule 'reweight'"),
        ({"mitigation_rule": "worst", "constraint": "full"}, "constraint has no meaning for the rule 'worst'"),
        ({"mitigation_rule": "best"}, "mitigation_rule"),
        ({"replay": 20}, "replay has no meaning for the constraint 'loss'"),
        ({"mitigation": "none", "mitigation_rule": "worst"}, "mitigation_rule has no meaning"),
    ],
)
def test_settings_that_a_rule_does_not_read_are_refused(changes: dict[str, object], why: str) -> None:
    with pytest.raises(PruneScopeError, match=why):
        validate_spec(replace(TINY, **({"mitigation": "both"} | changes)))


@pytest.mark.parametrize("rule", ["reweight", "worst"])
def test_a_reweighted_run_resumes_bit_for_bit(tiny_root: Path, tmp_path: Path, rule: str) -> None:
    spec = RunSpec("qmnist", "lenet", "global_unstructured", mitigation="both", mitigation_rule=rule, eta=0.4)
    spec = validate_spec(replace(spec, levels=2, epochs=3, mitigated_group="series"))
    run_experiment(spec, Study(tmp_path / "calm"), tiny_root, "cpu")

    def stop(progress: Progress) -> None:
        if progress.level == 2 and progress.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_experiment(spec, Study(tmp_path / "stopped"), tiny_root, "cpu", stop)
    run_experiment(spec, Study(tmp_path / "stopped"), tiny_root, "cpu")
    assert contents(tmp_path / "stopped") == contents(tmp_path / "calm")
    rows = Study(tmp_path / "calm").run_table(spec.key, "multipliers")
    assert set(rows["level"]) == {0, 1, 2} and (rows["weight"] >= 0).all()
    np.testing.assert_allclose(rows.groupby(["level", "epoch"])["weight"].sum(), 1, rtol=1e-5)
