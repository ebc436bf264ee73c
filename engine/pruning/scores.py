"""How much a weight or an input channel matters: one function per kind of score; the lowest goes first.

Names torch for types only, so that the table of techniques can be read without loading it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from torch import Generator, Tensor


@dataclass(frozen=True)
class Scored:
    """What a score may look at: the weights still in place, and what belongs to them.

    `weights` is one-dimensional for techniques that cut single weights; for those that cut channels it is the layer's
    tensor without the channels that are gone. `gradients` has the same shape and is there where the row asks for it,
    as are: `importances`, groups x weights, how much each group's loss hangs on each weight; `grams`, images x channels
    x channels, the Gram matrix of the maps that the layer sees of each image, with `channels`, the channel to which
    each input still in place belongs.
    """

    weights: Tensor
    gradients: Tensor | None
    decay: float
    generator: Generator
    importances: Tensor | None = None
    grams: Tensor | None = None
    channels: Tensor | None = None


Score = Callable[[Scored], "Tensor"]


def magnitude(scored: Scored) -> Tensor:
    """|w|."""
    return scored.weights.abs()


def uniform(scored: Scored) -> Tensor:
    """Uniform numbers, one per weight; drawn on the CPU so that every device cuts the same."""
    drawn = scored.weights.new_empty(scored.weights.shape, device="cpu").uniform_(generator=scored.generator)
    return -drawn.to(scored.weights.device)


def channel_uniform(scored: Scored) -> Tensor:
    """Uniform numbers, one per input channel."""
    n_channels = scored.weights.shape[1]
    drawn = scored.weights.new_empty(n_channels, device="cpu").uniform_(generator=scored.generator)
    return drawn.to(scored.weights.device)


def channel_norm(order: float) -> Score:
    """The norm of each input channel, over all other axes of the layer."""

    def score(scored: Scored) -> Tensor:
        others = [axis for axis in range(scored.weights.dim()) if axis != 1]
        norms: Tensor = scored.weights.norm(p=order, dim=others)
        return norms

    return score


def decayed_gradient(scored: Scored) -> Tensor:
    """|w (g + e w)|, with e the weight decay (Good 2022)."""
    assert scored.gradients is not None
    return (scored.weights * (scored.gradients + scored.decay * scored.weights)).abs()


def undecayed_gradient(scored: Scored) -> Tensor:
    """|w g|, the data loss alone (Good 2022)."""
    assert scored.gradients is not None
    return (scored.weights * scored.gradients).abs()


def channel_independence(scored: Scored) -> Tensor:
    """The place of each input channel, from 0, by how little the others can replace its map (CHIP, Sui et al. 2021).

    Score of a channel: mean over images of the nuclear norm of the maps minus that without its map. The inputs of one
    channel (of flattened maps) are ordered by their L1 norm. Where a layer sees no maps, by the L1 norm alone.
    """
    import torch

    norms = channel_norm(1)(scored).double()
    if scored.grams is None or scored.channels is None:
        return norms
    independence = map_independence(scored.grams)[scored.channels]
    by_norm = norms.argsort(stable=True)
    order = by_norm[independence[by_norm].argsort(stable=True)]
    places = torch.empty_like(norms)
    places[order] = torch.arange(len(norms), dtype=norms.dtype, device=norms.device)
    return places


def map_independence(grams: Tensor) -> Tensor:
    """Of each channel, the mean over images of the nuclear norm of all maps minus that without its own.

    From Gram matrices G = A A^T of maps A, channels x positions, in float64: the nuclear norm of A is the sum of the
    square roots of G's eigenvalues, and without a row of A, G lacks a row and a column.
    """
    import torch

    n_channels = grams.shape[1]
    others = [[other for other in range(n_channels) if other != channel] for channel in range(n_channels)]
    without = [_nuclear_norms(grams[:, rows][:, :, rows]) for rows in others]
    return (_nuclear_norms(grams) - torch.stack(without)).mean(1)


def _nuclear_norms(grams: Tensor) -> Tensor:
    from torch import linalg

    norms: Tensor = linalg.eigvalsh(grams).clamp(min=0).sqrt().sum(1)
    return norms


def balanced_importance(scored: Scored) -> Tensor:
    """The place of each weight, from 0 for the last, in which FairGRAPE (Lin et al. 2022) would keep it.

    Keeps the best weight of the group whose share of the importance kept so far is most below its share in the layer,
    again and again; the first of equals.
    """
    import torch

    assert scored.importances is not None
    order = balanced_order(scored.importances.double().cpu().numpy())
    places = torch.empty(len(order), dtype=torch.float64)
    places[torch.from_numpy(order)] = torch.arange(len(order) - 1, -1, -1, dtype=torch.float64)
    return places.to(scored.weights.device)


def balanced_order(importances: np.ndarray) -> np.ndarray:
    """Columns of groups x weights in the order in which FairGRAPE keeps them."""
    n_groups, n_weights = importances.shape
    totals = importances.sum(1)
    wanted = (totals / totals.sum() if totals.sum() > 0 else np.full(n_groups, 1 / n_groups)).tolist()
    best = [iter(ranks) for ranks in np.argsort(-importances, axis=1, kind="stable").tolist()]
    columns, kept, is_kept = importances.T.tolist(), [0.0] * n_groups, [False] * n_weights
    order: list[int] = []
    while len(order) < n_weights:
        whole = sum(kept) or 1.0
        behind = [have / whole - share for have, share in zip(kept, wanted, strict=True)]
        chosen = next(weight for weight in best[behind.index(min(behind))] if not is_kept[weight])
        is_kept[chosen] = True
        order.append(chosen)
        kept = [have + more for have, more in zip(kept, columns[chosen], strict=True)]
    return np.array(order)
