"""How training is held to a constraint between groups: a Lagrangian dual (Tran 2022, Section 6; Fioretto 2020).

loss + sum_a lambda_a |v_a - v|, and lambda_a += step x |v_a - v| after each epoch, from 0; v_a is the group's loss, or
what else the constraint names. One-sided constraints have max(0, v_a - v - tolerance) in place of the absolute value.

A batch holds few members of each group, so the sign of a gap in one batch is mostly noise. It is taken from a running
mean over batches instead, and the group's mean is estimated with the group's share of all examples: the step is then
an unbiased estimate of the true one. Where every multiplier is 0, the loss is the plain one, bit for bit.

A group better off than the mean is pushed away from its own examples: once its multiplier passes about its share, its
weight in the loss is negative and training makes it worse. The record has the weights, and `negative_weights` says so.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.fairness.group_means import BatchMeans, ReplayBuffers
from engine.run_spec import RunSpec
from engine.specs.mitigation import CONSTRAINTS, dual_step

MEMORY = 0.98
"""What a batch's weight in the running means becomes with each further batch: about fifty batches count."""


@dataclass(frozen=True, eq=False)
class ConstrainedGroups:
    """The groups of a training: names, each one's share of all examples, and its mean probability of the true class
    at the dense network where a constraint needs it, with that of all examples last."""

    name: str
    names: tuple[str, ...]
    shares: Tensor
    dense: Tensor | None = None


@dataclass(frozen=True, eq=False)
class Batch:
    """One batch as it went through the network."""

    network: nn.Module
    logits: Tensor
    labels: Tensor
    belongs: Tensor
    """1 where an example (row) belongs to a group (column)."""


@dataclass(frozen=True, eq=False)
class ConstraintValues:
    """A constraint's quantities on one batch: per term and group, per term of all, and what was seen without estimate.

    `seen` is the mean of the members that the batch has, NaN without any, and bears no gradient.
    """

    groups: Tensor
    whole: Tensor
    seen: Tensor


class Lagrangian:
    """The multipliers of one training: makes the loss of each batch, learns from each epoch, and keeps a record."""

    def __init__(self, spec: RunSpec, members: ConstrainedGroups) -> None:
        self.spec, self.members, self.row = spec, members, CONSTRAINTS[spec.constraint]
        shape = (len(self.row.terms), len(members.names))
        device = members.shares.device
        self.multipliers = torch.zeros(shape, device=device)
        self.rows: list[dict[str, Any]] = []
        self._running = BatchMeans(shape, device)
        self._epoch = BatchMeans(shape, device)
        self._replay = ReplayBuffers(spec.replay, members.shares) if spec.replay else None

    def loss(self, network: nn.Module, images: Tensor, labels: Tensor, groups: Tensor) -> Tensor:
        """The loss of a batch with its constraint; `groups` has -1 for an example that belongs to none."""
        logits = network(images)
        plain = functional.cross_entropy(logits, labels)
        belongs = (groups[:, None] == torch.arange(len(self.members.names), device=groups.device)).to(logits.dtype)
        is_on = bool(self.multipliers.any())
        with torch.set_grad_enabled(is_on or self.spec.constraint == "full"):
            terms = TERMS[self.spec.constraint](Batch(network, logits, labels, belongs), self.members)
        counts = belongs.sum(0)
        self._running.add(terms.seen, terms.whole, counts, len(labels), MEMORY)
        self._epoch.add(terms.seen, terms.whole, counts, len(labels))
        if self._replay is not None:
            self._replay.add(_chances(logits.detach(), labels), groups)
        if not is_on:
            return plain
        push = self._push(self._gaps(*self._means(self._running)))
        between = terms.groups - terms.whole[:, None] - self._tolerance
        return plain + (self.multipliers * push * between)[~between.isnan()].sum()

    def end_epoch(self, epoch: int) -> None:
        """Raise the multipliers by this epoch's violations, and note them; epochs count from 1."""
        groups, whole = self._means(self._epoch)
        gaps = self._gaps(groups, whole)
        violations = gaps.clamp(min=0) if self.row.is_one_sided else gaps.abs()
        self._note(epoch, groups, whole, violations)
        self.multipliers += dual_step(self.spec, epoch) * violations.nan_to_num(0.0)
        self._epoch = BatchMeans(tuple(gaps.shape), gaps.device)

    @property
    def _tolerance(self) -> float:
        return self.spec.tolerance if self.row.is_one_sided else 0.0

    def _means(self, over: BatchMeans) -> tuple[Tensor, Tensor]:
        """The constraint's quantities of groups and of all: over batches, or of each group's latest members."""
        if self._replay is None:
            return over.groups(), over.whole()
        assert self.members.dense is not None
        dense = self.members.dense
        return (dense[:-1] - self._replay.groups())[None], (dense[-1] - self._replay.whole())[None]

    def _gaps(self, groups: Tensor, whole: Tensor) -> Tensor:
        return groups - whole[:, None] - self._tolerance

    def _push(self, gaps: Tensor) -> Tensor:
        """Which way each group is pushed: 1 to a smaller quantity, -1 to a larger one, 0 not at all."""
        return ((gaps > 0).to(gaps.dtype) if self.row.is_one_sided else gaps.sign()).nan_to_num(0.0)

    def _weights(self, gaps: Tensor) -> Tensor:
        """Weight of each group's mean loss in what is made small; they sum to 1.

        For drops they are those of examples that are surely right, the least that there are where a group's weight
        falls; NaN where the constraint is about something else than losses and drops.
        """
        if len(self.row.terms) > 1:
            return torch.full_like(self.members.shares, torch.nan)
        pull = (self.multipliers * self._push(gaps))[0]
        return self.members.shares * (1 - pull.sum()) + pull

    def _note(self, epoch: int, groups: Tensor, whole: Tensor, violations: Tensor) -> None:
        weights = self._weights(self._gaps(groups, whole)).tolist()
        for number, term in enumerate(self.row.terms):
            for code, name in enumerate(self.members.names):
                self.rows.append(
                    {
                        "epoch": epoch,
                        "grouping": self.members.name,
                        "group": name,
                        "term": term,
                        "value": float(groups[number, code]),
                        "whole": float(whole[number]),
                        "violation": float(violations[number, code]),
                        "multiplier": float(self.multipliers[number, code]),
                        "weight": weights[code],
                    }
                )


def negative_weights(rows: Sequence[Mapping[str, Any]]) -> str:
    """A warning that names the groups whose weight a training's record shows as negative; empty where none was."""
    names = list(dict.fromkeys(str(row["group"]) for row in rows if row.get("weight", 0.0) < 0))
    if not names:
        return ""
    return (
        f"Mitigation gave a negative weight to {', '.join(names)}: training raised their loss. Lower dual_step, or use "
        "the rule reweight, whose weights are never negative."
    )


# -- what each constraint compares ------------------------------------------------------------------------------


def loss_terms(batch: Batch, members: ConstrainedGroups) -> ConstraintValues:
    """The loss of each group and of all."""
    losses = functional.cross_entropy(batch.logits, batch.labels, reduction="none")
    return _of_means(losses, batch.belongs, members.shares)


def drop_terms(batch: Batch, members: ConstrainedGroups) -> ConstraintValues:
    """How much less likely the true class is since dense: a stand-in for lost accuracy that has a gradient."""
    assert members.dense is not None
    now = _of_means(_chances(batch.logits, batch.labels), batch.belongs, members.shares)
    dense = members.dense
    return ConstraintValues(dense[:-1] - now.groups, dense[-1] - now.whole, dense[:-1] - now.seen)


def full_terms(batch: Batch, members: ConstrainedGroups) -> ConstraintValues:
    """Gradient norm and curvature of each group's loss and of all; what a batch has of a group stands for it."""
    losses = functional.cross_entropy(batch.logits, batch.labels, reduction="none")
    parameters = [parameter for parameter in batch.network.parameters() if parameter.requires_grad]
    pairs = [
        torch.stack(_norm_and_curvature((losses * is_in).sum() / is_in.sum(), parameters))
        if is_in.any()
        else losses.new_full((2,), float("nan"))
        for is_in in batch.belongs.unbind(1)
    ]
    groups = torch.stack(pairs, 1)
    whole = torch.stack(_norm_and_curvature(losses.mean(), parameters))
    return ConstraintValues(groups, whole, groups.detach())


TERMS: Mapping[str, Callable[[Batch, ConstrainedGroups], ConstraintValues]] = {
    "loss": loss_terms,
    "full": full_terms,
    "drop": drop_terms,
}


def _chances(logits: Tensor, labels: Tensor) -> Tensor:
    """Probability of the true class."""
    return logits.softmax(1).gather(1, labels[:, None]).squeeze(1)


def _of_means(values: Tensor, belongs: Tensor, shares: Tensor) -> ConstraintValues:
    sums = values @ belongs
    groups = (sums / (len(values) * shares.clamp(min=1e-9)))[None]
    return ConstraintValues(groups, values.mean()[None], (sums / belongs.sum(0)).detach()[None])


def _norm_and_curvature(loss: Tensor, parameters: list[nn.Parameter]) -> tuple[Tensor, Tensor]:
    """Norm of the gradient, and w'Hw with w one power step from the gradient: at most the largest eigenvalue."""
    gradient = torch.autograd.grad(loss, parameters, create_graph=True)
    norm = (_product(gradient, gradient) + 1e-12).sqrt()
    start = [part.detach() / norm.detach() for part in gradient]
    step = torch.autograd.grad(gradient, parameters, start, retain_graph=True)
    size = _product(step, step).sqrt() + 1e-12
    direction = [part.detach() / size for part in step]
    bent = torch.autograd.grad(gradient, parameters, direction, create_graph=True)
    return norm, _product(bent, direction)


def _product(first: Any, second: Any) -> Tensor:
    return torch.stack([(a * b).sum() for a, b in zip(first, second, strict=True)]).sum()
