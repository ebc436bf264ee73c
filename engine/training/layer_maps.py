"""What the layers of a network see of a few training images, as Gram matrices of maps: what CHIP scores channels by."""

from collections.abc import Callable, Mapping
from itertools import pairwise

import torch
from torch import Tensor, nn

from engine.pruning.masks import prunable
from engine.training.split import Split

IMAGES, BATCH = 640, 128
"""Five batches of 128 training images, as CHIP takes."""


def layer_grams(network: nn.Module, split: Split, masks: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """By layer, images x channels x channels in float64: A A^T of the maps A, channels x positions, that it sees.

    Of the first images of the split, which is in random order; inputs that are cut count as zero. A layer is there if
    it sees maps: convolutions beside the first, and the first linear layer where it takes flattened maps.
    """
    channels = _map_channels(network)
    parts: dict[str, list[Tensor]] = {name: [] for name in channels}
    hooks = [
        network.get_submodule(name.removesuffix(".weight")).register_forward_pre_hook(
            _keep_grams(parts[name], n_channels, masks[name].transpose(0, 1).flatten(1).any(1))
        )
        for name, n_channels in channels.items()
    ]
    network.eval()
    try:
        with torch.no_grad():
            for images in torch.split(split.images[:IMAGES], BATCH):
                network(split.inputs(images))
    finally:
        for hook in hooks:
            hook.remove()
    return {name: torch.cat(grams) for name, grams in parts.items()}


def _map_channels(network: nn.Module) -> dict[str, int]:
    """The layers that see maps, by the name of their weight, and how many."""
    weights = prunable(network)
    channels: dict[str, int] = {}
    for before, (name, weight) in pairwise(weights.items()):
        n_inputs, n_maps = weight.shape[1], before[1].shape[0]
        if weight.dim() > 2:
            channels[name] = n_inputs
        elif before[1].dim() > 2 and n_inputs > n_maps and n_inputs % n_maps == 0:
            channels[name] = n_maps
    return channels


def _keep_grams(grams: list[Tensor], n_channels: int, is_there: Tensor) -> Callable[..., None]:
    def keep(layer: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        seen = inputs[0] * is_there.view(1, -1, *[1] * (inputs[0].dim() - 2))
        maps = seen.reshape(len(seen), n_channels, -1).double()
        grams.append(maps @ maps.transpose(1, 2))

    return keep
