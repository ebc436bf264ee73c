"""Exactly which weights are zero: counts what to cut and cuts it, as `torch.nn.utils.prune` does weight for weight."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Generator, Tensor, nn

from engine.pruning.techniques import Scored, TechniqueRow

Masks = dict[str, Tensor]


class EmptyLayer(Exception):
    """A cut that would leave a layer without a single weight; its text names the layer."""


@dataclass(frozen=True)
class Cut:
    """How to cut: the technique, the share of what remains, and what its score may need.

    By layer, where the technique asks for it: `importances`, groups x the layer's weights, and `grams`, the Gram
    matrices of the maps that the layer sees, none where it sees no maps. A technique that asks for those leaves the
    first layer alone, which sees the images.
    """

    technique: TechniqueRow
    share: float
    generator: Generator
    decay: float = 0.0
    importances: Mapping[str, Tensor] = field(default_factory=dict)
    grams: Mapping[str, Tensor] = field(default_factory=dict)


def prunable(network: nn.Module) -> dict[str, Tensor]:
    """The weights that pruning may cut, by name: those of convolutions and linear layers, no biases, no norms."""
    return {
        f"{name}.weight": module.weight
        for name, module in network.named_modules()
        if isinstance(module, nn.Conv1d | nn.Conv2d | nn.Conv3d | nn.Linear)
    }


def full_masks(network: nn.Module) -> Masks:
    """Masks that cut nothing."""
    return {name: torch.ones_like(weight, dtype=torch.bool) for name, weight in prunable(network).items()}


def apply_masks(network: nn.Module, masks: Mapping[str, Tensor]) -> None:
    """Set the weights that are cut to zero, in place."""
    with torch.no_grad():
        for name, weight in prunable(network).items():
            weight.mul_(masks[name])


def count_kept(masks: Mapping[str, Tensor]) -> int:
    """Number of weights that are not cut."""
    return sum(int(mask.sum()) for mask in masks.values())


def count_all(masks: Mapping[str, Tensor]) -> int:
    """Number of weights that pruning may cut."""
    return sum(mask.numel() for mask in masks.values())


def sparsity(masks: Mapping[str, Tensor]) -> float:
    """Share of the prunable weights that are cut, 0 to 1."""
    return 1 - count_kept(masks) / count_all(masks)


def cut_masks(
    weights: Mapping[str, Tensor], masks: Masks, cut: Cut, gradients: Mapping[str, Tensor] | None = None
) -> Masks:
    """New masks with `cut.share` of what remains cut: of each layer, or of the network as a whole.

    Weights that were cut stay cut. Raises `EmptyLayer` where nothing of a layer would remain.
    """
    if cut.technique.cuts == "nothing":
        return masks
    if cut.technique.cuts == "channels":
        first = next(iter(masks)) if cut.technique.needs_maps else ""
        after = {
            name: mask if name == first else _cut_channels(weights[name], mask, cut, cut.grams.get(name))
            for name, mask in masks.items()
        }
    elif cut.technique.compares == "layer":
        after = {
            name: _cut_weights(
                weights[name].detach(),
                mask,
                cut,
                None if gradients is None else gradients[name],
                cut.importances.get(name),
            )
            for name, mask in masks.items()
        }
    else:
        joined = _cut_weights(
            _join(weights, masks), _join(masks, masks), cut, None if gradients is None else _join(gradients, masks)
        )
        parts = torch.split(joined, [mask.numel() for mask in masks.values()])
        after = {name: part.view_as(mask) for (name, mask), part in zip(masks.items(), parts, strict=True)}
    for name, mask in after.items():
        if not mask.any():
            raise EmptyLayer(name.removesuffix(".weight"))
    return after


def _join(tensors: Mapping[str, Tensor], order: Mapping[str, Tensor]) -> Tensor:
    return torch.cat([tensors[name].detach().flatten() for name in order])


def _cut_weights(
    weights: Tensor, mask: Tensor, cut: Cut, gradients: Tensor | None, importances: Tensor | None = None
) -> Tensor:
    remaining = weights[mask]
    n_cut = round(cut.share * remaining.numel())
    if n_cut == 0:
        return mask
    scores = cut.technique.score(
        Scored(
            remaining,
            None if gradients is None else gradients[mask],
            cut.decay,
            cut.generator,
            None if importances is None else importances[:, mask.flatten()],
        )
    )
    kept = torch.ones_like(remaining, dtype=torch.bool)
    kept[torch.topk(scores, n_cut, largest=False).indices] = False
    after = mask.clone()
    after[mask] = kept
    return after


def _cut_channels(weights: Tensor, mask: Tensor, cut: Cut, grams: Tensor | None) -> Tensor:
    remaining = mask.transpose(0, 1).flatten(1).any(1).nonzero().flatten()
    n_cut = round(cut.share * remaining.numel())
    if n_cut == 0:
        return mask
    channels = None if grams is None else remaining // (weights.shape[1] // grams.shape[1])
    scored = Scored(weights.detach()[:, remaining], None, cut.decay, cut.generator, grams=grams, channels=channels)
    scores = cut.technique.score(scored)
    kept = torch.topk(scores, remaining.numel() - n_cut, largest=True).indices
    after = torch.zeros_like(mask)
    after[:, remaining[kept]] = True
    return after & mask
