"""Why some groups lose more (Tran 2022): per group its loss, gradient norm, largest Hessian eigenvalue and margin.

Measured on the training examples, because Theorem 1 speaks of them, on a sample of each group that is the same at every
level; the table states its size. `engine.analysis.causes` compares groups, levels and seeds.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from engine.datasets.groups import CLASS, Grouping
from engine.fairness.curvature import (
    flat,
    gradient_and_logits,
    hessian_product,
    lanczos_start,
    largest_eigenvalue,
    trainable,
)
from engine.store.run_tables import LevelResult
from engine.training.evaluation import evaluate_network
from engine.training.seeding import generator
from engine.training.split import Split

NO_MEMBER = "no training example belongs to it"
ONE_MEMBER = "only one training example belongs to it"
ONE_CLASS = "all of its training examples are of one class"

Row = dict[str, Any]


@dataclass(frozen=True)
class Effort:
    """How much is spent on one group: members whose loss and gradient are taken, members whose Hessian is, and Lanczos.

    The default costs less than a quarter of a training epoch for LeNet and ten groups. A residual of 5 % leaves the
    eigenvalue itself within about 0.3 %; what the sample leaves open is much more.
    """

    members: int = 150
    hessian_members: int = 40
    products: int = 6
    tolerance: float = 0.05


DEFAULT = Effort()


@dataclass(frozen=True, eq=False)
class Sample:
    """The members of a group that are measured, out of n; `reason` says why there are none."""

    group: str
    n: int
    rows: Tensor
    reason: str = ""


@dataclass(frozen=True)
class Measures:
    """What is measured of a group's sample.

    `loss` mean cross entropy; `gradient_norm` and `eigenvalue` of that mean over all trainable parameters (`residual`:
    how far Lanczos may be off); `margin` mean of top-1 minus top-2 probability; `closeness` mean of 1 - sum p^2.
    """

    loss: float
    gradient_norm: float
    eigenvalue: float
    residual: float
    margin: float
    closeness: float


NOTHING = Measures(*[float("nan")] * 6)


@dataclass(frozen=True, eq=False)
class CutSamples:
    """A network right after the cut: how far its weights are from the dense ones, and each sample's mean loss."""

    change: float
    losses: dict[tuple[str, str], float]


def draw_samples(groups: Grouping, labels: np.ndarray, effort: Effort, draw: Generator) -> list[Sample]:
    """A sample of every group; groups of no member, one member, or one class of several are named with the reason."""
    samples = []
    for code, name in enumerate(groups.names):
        members = np.flatnonzero(groups.training == code)
        order = torch.randperm(len(members), generator=draw)[: effort.members]
        reason = _reason(groups.name, labels[members])
        rows = torch.empty(0, dtype=torch.long) if reason else torch.from_numpy(members)[order]
        samples.append(Sample(name, len(members), rows, reason))
    return samples


def _reason(grouping: str, labels: np.ndarray) -> str:
    if len(labels) < 2:
        return ONE_MEMBER if len(labels) else NO_MEMBER
    return ONE_CLASS if grouping != CLASS and len(np.unique(labels)) == 1 else ""


def measure_group(network: nn.Module, members: Split, effort: Effort, draw: Generator) -> Measures:
    """What is measured of these members; the first `effort.hessian_members` of them give the Hessian."""
    slope, logits = gradient_and_logits(network, members)
    few = members.part(torch.arange(min(effort.hessian_members, len(members))))
    top = largest_eigenvalue(
        hessian_product(network, few), lanczos_start(slope, draw), effort.products, effort.tolerance
    )
    chances = logits.softmax(1)
    best = chances.topk(2, dim=1).values
    return Measures(
        loss=float(functional.cross_entropy(logits, members.labels)),
        gradient_norm=float(slope.norm()),
        eigenvalue=top.value,
        residual=top.residual,
        margin=float((best[:, 0] - best[:, 1]).mean()),
        closeness=float((1 - chances.square().sum(1)).mean()),
    )


def loss_bound(gradient_norm: float, eigenvalue: float, change: float) -> float:
    """Theorem 1 without its third-order rest: |g| |d| + lambda |d|^2 / 2, g and lambda of the dense network."""
    return gradient_norm * change + eigenvalue * change**2 / 2


class Diagnosis:
    """The diagnostics of one run: every level on the same samples, beside the dense network's."""

    def __init__(self, training: Split, groupings: Sequence[Grouping], seed: int, effort: Effort = DEFAULT) -> None:
        self._training, self._groupings, self._effort, self._seed = training, groupings, effort, seed
        labels = training.labels.cpu().numpy()
        self._samples = {
            groups.name: draw_samples(groups, labels, effort, generator(seed, 0, f"sample {groups.name}"))
            for groups in groupings
        }
        self._dense: dict[tuple[str, str], Measures] = {}
        self._weights: Tensor | None = None

    def after_cut(self, network: nn.Module) -> CutSamples:
        """How a network that has just been cut stands; asked after the dense network's rows."""
        losses = {}
        for groups in self._groupings:
            for sample in self._samples[groups.name]:
                chances = evaluate_network(network, self._training.part(sample.rows)) if not sample.reason else None
                losses[groups.name, sample.group] = float(chances.loss.mean(dtype=float)) if chances else float("nan")
        return CutSamples(self._distance(network) if self._groupings else float("nan"), losses)

    def rows(
        self, network: nn.Module, result: LevelResult, labels: np.ndarray, cut: CutSamples | None = None
    ) -> list[Row]:
        """One row per grouping and group of this network; the first call is for the dense one.

        `result` is what the network said of the test examples, whose labels are given. Columns that begin with `cut_`
        are of `cut`, NaN without it.
        """
        change = self._distance(network)
        rows = []
        for groups in self._groupings:
            tested = _tested(groups, result, labels)
            for code, sample in enumerate(self._samples[groups.name]):
                row = self._row(network, groups.name, sample, change)
                rows.append(row | tested[code] | self._cut_row(groups.name, sample.group, cut))
        return rows

    def _distance(self, network: nn.Module) -> float:
        weights = flat(trainable(network))
        if self._weights is None:
            self._weights = weights
        return float((weights - self._weights).norm())

    def _cut_row(self, grouping: str, group: str, cut: CutSamples | None) -> Row:
        """Excessive loss and Theorem 1 where they are defined: at the pruned dense weights, before any retraining."""
        dense = self._dense[grouping, group]
        loss, change = (cut.losses[grouping, group], cut.change) if cut else (float("nan"), float("nan"))
        return {
            "cut_excessive_loss": loss - dense.loss,
            "cut_weight_change": change,
            "cut_bound": loss_bound(dense.gradient_norm, dense.eigenvalue, change),
        }

    def _row(self, network: nn.Module, grouping: str, sample: Sample, change: float) -> Row:
        measures = NOTHING
        if not sample.reason:
            draw = generator(self._seed, 0, f"lanczos {grouping} {sample.group}")
            measures = measure_group(network, self._training.part(sample.rows), self._effort, draw)
        dense = self._dense.setdefault((grouping, sample.group), measures)
        return {
            "grouping": grouping,
            "group": sample.group,
            "n": sample.n,
            "n_sample": len(sample.rows),
            "n_hessian": min(self._effort.hessian_members, len(sample.rows)),
            **asdict(measures),
            "excessive_loss": measures.loss - dense.loss,
            "weight_change": change,
            "bound": loss_bound(dense.gradient_norm, dense.eigenvalue, change),
            "reason": sample.reason,
        }


def _tested(groups: Grouping, result: LevelResult, labels: np.ndarray) -> list[Row]:
    """Of each group on the test side: how many there are, how many are right, their mean loss (NaN without any)."""
    test_rows = []
    for code in range(len(groups.names)):
        members = groups.test == code
        n = int(members.sum())
        test_rows.append(
            {
                "test_n": n,
                "test_correct": int((result.prediction[members] == labels[members]).sum()),
                "test_loss": float(result.loss[members].mean()) if n else float("nan"),
            }
        )
    return test_rows
