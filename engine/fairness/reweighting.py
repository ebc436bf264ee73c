"""How training leans towards groups that it serves badly: weights of the groups' losses that are never negative.

Both weigh a group's mean loss by start_a exp(theta_a) / sum. `reweight` starts as plain training, from the shares p_a,
and theta_a += eta (J_a - J) / J after each epoch, which has no unit. `worst` is group DRO (Sagawa 2020, Algorithm 1):
equal weights at first, and theta_a += eta J_a with every batch. A group's mean in a batch is estimated with its share
of all examples, so that both the network's step and that of the weights are unbiased, with or without a member there.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from engine.fairness.lagrangian import ConstrainedGroups, Lagrangian
from engine.run_spec import RunSpec


class Reweighting:
    """The group weights of one training by the rule `reweight`; keeps a record of every epoch."""

    def __init__(self, spec: RunSpec, members: ConstrainedGroups) -> None:
        self.eta, self.members = spec.eta, members
        self.theta = torch.zeros_like(members.shares)
        self.rows: list[dict[str, Any]] = []
        self._move(self.theta)
        self._forget()

    def example_weights(self, losses: Tensor, groups: Tensor) -> Tensor | None:
        """What each example of a batch weighs: its group's weight over its group's share; None before a first step."""
        self._add(losses, groups)
        return self._factors[groups] if self.theta.any() else None

    def end_epoch(self, epoch: int) -> None:
        """Move the weights by this epoch's losses, and note both; epochs count from 1."""
        means, whole = self._note(epoch)
        self._move(self.eta * ((means - whole) / whole).nan_to_num(0.0))
        self._forget()

    @property
    def weights(self) -> Tensor:
        """Weight of each group's mean loss; they sum to 1, and a group without examples has 0."""
        return (self._start() + self.theta).softmax(0)

    def _start(self) -> Tensor:
        return self.members.shares.log()

    def _move(self, step: Tensor) -> None:
        """Move the weights, and with them what an example of each group weighs; one of no group, -1, weighs 1."""
        self.theta = self.theta + step
        shares = self.members.shares
        factors = torch.where(shares > 0, self.weights * shares.sum() / shares, 0.0)
        self._factors = torch.cat([factors, factors.new_ones(1)])

    def _add(self, losses: Tensor, groups: Tensor) -> Tensor:
        """Take in a batch; returns the sum of losses of each group, those of no group last."""
        places = groups % len(self._sums)
        sums = torch.zeros_like(self._sums).index_add_(0, places, losses)
        self._sums += sums
        self._counts += torch.bincount(places, minlength=len(self._sums))
        return sums

    def _forget(self) -> None:
        self._sums, self._counts = torch.zeros_like(self._factors), torch.zeros_like(self._factors)

    def _note(self, epoch: int) -> tuple[Tensor, Tensor]:
        """Write down the epoch; returns the mean loss of each group, NaN without member, and of all."""
        means, whole = (self._sums / self._counts)[:-1], self._sums.sum() / self._counts.sum()
        for code, name in enumerate(self.members.names):
            self.rows.append(
                {
                    "epoch": epoch,
                    "grouping": self.members.name,
                    "group": name,
                    "term": "loss",
                    "value": float(means[code]),
                    "whole": float(whole),
                    "violation": float((means[code] - whole).abs()),
                    "multiplier": float(self.theta[code]),
                    "weight": float(self.weights[code]),
                }
            )
        return means, whole


class WorstGroup(Reweighting):
    """The group weights of one training by the rule `worst`; an epoch's record has those at its end."""

    def example_weights(self, losses: Tensor, groups: Tensor) -> Tensor | None:
        """What each example of a batch weighs, after the batch has moved the weights."""
        sums, shares = self._add(losses, groups)[:-1], self.members.shares
        step = self.eta * torch.where(shares > 0, sums / (len(losses) * shares), 0.0)
        self._move(step - (self.theta + step).max())  # what all have in common changes no weight
        return self._factors[groups]

    def end_epoch(self, epoch: int) -> None:
        """Note the epoch; epochs count from 1."""
        self._note(epoch)
        self._forget()

    def _start(self) -> Tensor:
        return torch.where(self.members.shares > 0, 0.0, -torch.inf)


MitigatedTraining = Lagrangian | Reweighting
OBJECTIVES: Mapping[str, Callable[[RunSpec, ConstrainedGroups], MitigatedTraining]] = {
    "lagrangian": Lagrangian,
    "reweight": Reweighting,
    "worst": WorstGroup,
}
"""What trains by each rule of `engine.specs.mitigation.RULES`."""


def mitigated_training(spec: RunSpec, members: ConstrainedGroups) -> MitigatedTraining:
    """The objective of one training by the spec's rule."""
    return OBJECTIVES[spec.mitigation_rule](spec, members)
