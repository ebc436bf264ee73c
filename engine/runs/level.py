"""What the levels of a run share: the groups that mitigation looks at, and what a network comes to when tested."""

import time
from dataclasses import dataclass, replace

import numpy
import torch
from torch import nn

from engine.errors import PruneScopeError
from engine.fairness.diagnostics import CutSamples, Diagnosis
from engine.fairness.lagrangian import ConstrainedGroups
from engine.pruning.masks import Masks, count_all, count_kept
from engine.pruning.schedules import PlannedLevel
from engine.run_spec import RunSpec
from engine.runs.workspace import Workspace
from engine.specs.mitigation import CONSTRAINTS
from engine.store.run_tables import LevelResult
from engine.training.evaluation import Evaluation, evaluate_network
from engine.training.split import Split


@dataclass(frozen=True)
class AfterCut:
    """A network right after weights were cut and before it trains: on the test split, and on diagnosed samples."""

    tested: Evaluation
    samples: CutSamples


def after_cut(network: nn.Module, workspace: Workspace, diagnosis: Diagnosis) -> AfterCut:
    """What a network that has just been cut says; it is left as it was."""
    return AfterCut(evaluate_network(network, workspace.test), diagnosis.after_cut(network))


def grouped_split(spec: RunSpec, workspace: Workspace) -> Split:
    """The training split with the groups between which gaps are mitigated."""
    return replace(
        workspace.training,
        groups=torch.from_numpy(workspace.grouping(spec.mitigated_group).training).to(workspace.device),
    )


def constrained_groups(spec: RunSpec, workspace: Workspace, dense: nn.Module | None = None) -> ConstrainedGroups:
    """The groups between which gaps are mitigated; the dense network is asked where the constraint looks back at it."""
    groups = workspace.grouping(spec.mitigated_group)
    n = numpy.array([(groups.training == code).sum() for code in range(len(groups.names))])
    chances = None
    if dense is not None and CONSTRAINTS[spec.constraint].is_one_sided:
        chance = evaluate_network(dense, workspace.training).probability
        means = [chance[groups.training == code].mean() if n[code] else numpy.nan for code in range(len(n))]
        chances = torch.tensor([*means, chance.mean()], dtype=torch.float32, device=workspace.device)
    shares = torch.tensor(n / len(groups.training), dtype=torch.float32, device=workspace.device)
    return ConstrainedGroups(groups.name, groups.names, shares, chances)


def judging_split(spec: RunSpec, workspace: Workspace) -> Split | None:
    """The split that says which epoch's weights a training leaves; None where that is the last."""
    return workspace.validation if spec.kept_epoch == "best" else None


def level_result(network: nn.Module, workspace: Workspace, step: PlannedLevel, masks: Masks) -> LevelResult:
    """What the network says of the test split and of the validation split."""
    test = evaluate_network(network, workspace.test)
    if not numpy.isfinite(test.loss).all():
        raise PruneScopeError(
            f"Training diverged at level {step.level}: the loss is not finite. Lower the learning rate."
        )
    validation = evaluate_network(network, workspace.validation)
    right = validation.prediction == workspace.validation.labels.cpu().numpy()
    return LevelResult(
        step.level,
        step.sparsity,
        count_all(masks),
        count_kept(masks),
        float(right.mean()),
        test.prediction,
        test.probability,
        test.margin,
        test.loss,
        validation_prediction=validation.prediction,
    )


def compute_seconds(workspace: Workspace) -> float:
    """Seconds of computing so far: the processor's own where it does the work; pauses and neighbours are out."""
    return time.process_time() if workspace.device.type == "cpu" else time.monotonic()
