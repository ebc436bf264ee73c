"""What a training knows of its groups from the batches seen so far: means over batches, or over the latest members."""

import torch
from torch import Tensor


class BatchMeans:
    """Mean of some quantities over batches, each group weighed by its members in them."""

    def __init__(self, shape: tuple[int, ...], device: torch.device) -> None:
        self._sums, self._counts = torch.zeros(shape, device=device), torch.zeros(shape, device=device)
        self._whole, self._n = torch.zeros(shape[0], device=device), 0.0

    @torch.no_grad()
    def add(self, seen: Tensor, whole: Tensor, counts: Tensor, n: int, memory: float = 1.0) -> None:
        """Take in a batch of n: means of its groups, NaN for one without member, and of all, and the groups' sizes."""
        there = seen.isfinite() & (counts > 0)
        self._sums = memory * self._sums + torch.where(there, seen * counts, 0.0)
        self._counts = memory * self._counts + there * counts
        self._whole = memory * self._whole + n * whole.detach()
        self._n = memory * self._n + n

    def groups(self) -> Tensor:
        """Per term and group; NaN where no batch had a member."""
        return self._sums / self._counts

    def whole(self) -> Tensor:
        """Per term, of all examples."""
        return self._whole / self._n


class ReplayBuffers:
    """The latest values of each group, as many of a small group as of a large one (Hashemizadeh et al. 2024).

    A batch of 32 may hold no member of a small group for a while; its mean over the buffer does not jump with the few
    that the last batches had.
    """

    def __init__(self, size: int, shares: Tensor) -> None:
        self.size, self._shares = size, shares
        self._latest = [shares.new_empty(0) for _ in shares]

    @torch.no_grad()
    def add(self, values: Tensor, groups: Tensor) -> None:
        """Take in one value per example of a batch; examples of no group have -1."""
        for code in sorted(set(groups.tolist())):
            if code >= 0:
                self._latest[code] = torch.cat([self._latest[code], values[groups == code].detach()])[-self.size :]

    def groups(self) -> Tensor:
        """Mean of each group's latest members; NaN for a group that had none."""
        return torch.stack([latest.mean() for latest in self._latest])

    def whole(self) -> Tensor:
        """Mean of all groups seen, each by its share of the examples."""
        means = self.groups()
        there = means.isfinite()
        return (self._shares * means)[there].sum() / self._shares[there].sum()
