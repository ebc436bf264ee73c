"""The dense network that runs start from: trained once, then shared by all runs that begin alike."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import nn

from engine.errors import PruneScopeError
from engine.fairness.reweighting import mitigated_training
from engine.pruning.masks import full_masks
from engine.pruning.schedules import PlannedLevel, planned_levels
from engine.run_spec import Progress, RunSpec, Watcher
from engine.runs.checkpoints import (
    Tensors,
    is_own_step,
    load_result,
    load_states,
    save_result,
    save_states,
    step_state,
)
from engine.runs.given_weights import load_weights
from engine.runs.level import compute_seconds, constrained_groups, grouped_split, judging_split, level_result
from engine.runs.workspace import Workspace
from engine.specs.dense_key import dense_key
from engine.specs.mitigation import mitigates
from engine.store.claims import claim
from engine.store.run_tables import LevelResult
from engine.store.study import Study
from engine.training.loop import TrainingJob, train_network
from engine.training.seeding import generator


@dataclass(frozen=True)
class Dense:
    """The trained network that runs start from, its weights at initialisation, and what it said."""

    initial: Tensors
    trained: Tensors
    result: LevelResult
    seconds: float
    mended: str = ""
    """Which damaged files it was made again for."""


def dense_network(spec: RunSpec, study: Study, workspace: Workspace, watch: Watcher) -> Dense:
    """The dense network of a run: found in the study, or trained and left there for the runs that share it."""
    refused: list[str] = []
    while (dense := _kept_dense(spec, study, workspace)) is None:
        with claim(study.path / "claims", f"dense-{dense_key(spec)}") as ours:
            if ours:
                files = _files(spec, study)
                refused = [_place(path) for path in files] if all(path.exists() for path in files) else refused
                _train_dense(spec, study, workspace, watch)
            else:
                time.sleep(0.5)
    if not refused:
        return dense
    return replace(dense, mended=f"{' and '.join(refused)} did not hold what was written and are made again.")


def _files(spec: RunSpec, study: Study) -> tuple[Path, Path]:
    """Where a dense network and what it said lie."""
    path = study.dense_file(dense_key(spec))
    return path, path.with_suffix(".outcome")


def _place(path: Path) -> str:
    return f"dense/{path.name}"


def _kept_dense(spec: RunSpec, study: Study, workspace: Workspace) -> Dense | None:
    network, outcome = _files(spec, study)
    states = load_states(network, workspace.device, _place(network))
    kept = load_result(outcome, _place(outcome)) if states is not None else None
    if states is None or kept is None or not is_own_step(states, workspace.new_network(spec)):
        return None
    return Dense(states["initial"], states["trained"], *kept)


def early_weights(spec: RunSpec, workspace: Workspace, dense: Dense) -> Tensors:
    """The network as the step `rewind_to` of the dense training left it: the first steps are made again, bit by bit."""
    if not spec.rewind_to:
        return dense.initial
    if spec.weights:
        raise PruneScopeError("rewind_to needs the dense training; with given weights it is 0, which brings them back.")
    if (n_steps := workspace.n_steps(spec, spec.epochs)) <= spec.rewind_to:
        raise PruneScopeError(
            f"rewind_to is {spec.rewind_to}; the dense training has {n_steps} steps, so allowed is 0 to {n_steps - 1}."
        )
    network = workspace.new_network(spec)

    def stop(done: int) -> None:
        if done == spec.rewind_to:
            raise _Reached

    try:
        _train(spec, workspace, network, on_step=stop)
    except _Reached:
        return {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}
    raise AssertionError("a training ends after its last step")


class _Reached(Exception):
    """The step that a training was to stop at."""


def _train_dense(spec: RunSpec, study: Study, workspace: Workspace, watch: Watcher) -> None:
    path, outcome = _files(spec, study)
    begun = compute_seconds(workspace)
    network = workspace.new_network(spec)
    initial = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    multipliers: Sequence[dict[str, Any]]

    def on_epoch(epoch: int) -> None:
        watch(Progress(spec.key, 0, len(planned_levels(spec)), epoch, spec.epochs))

    if spec.weights:
        load_weights(study, spec, network)
        initial, multipliers = {name: tensor.clone() for name, tensor in network.state_dict().items()}, ()
    else:
        multipliers = _train(spec, workspace, network, on_epoch)
    result = level_result(network, workspace, PlannedLevel(0, 0.0, 0.0), full_masks(network))
    save_states(path, {"initial": initial, "trained": network.state_dict(), "step": step_state(network)}, _place(path))
    seconds = compute_seconds(workspace) - begun
    save_result(outcome, replace(result, multipliers=multipliers), seconds, _place(outcome))


def _train(
    spec: RunSpec,
    workspace: Workspace,
    network: nn.Module,
    on_epoch: Callable[[int], None] = lambda epoch: None,
    on_step: Callable[[int], None] = lambda step: None,
) -> Sequence[dict[str, Any]]:
    """Train the dense network; what mitigation noted comes back."""
    mitigated = mitigated_training(spec, constrained_groups(spec, workspace)) if mitigates(spec, 0) else None
    order, judge = generator(spec.seed, 0, "order"), judging_split(spec, workspace)
    job = TrainingJob(spec, spec.epochs, order, on_epoch, on_step, mitigated, judge)
    train_network(
        network, grouped_split(spec, workspace) if mitigated else workspace.training, full_masks(network), job
    )
    return mitigated.rows if mitigated else ()
