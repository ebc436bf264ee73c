"""Networks of the table with few channels, with numbers everywhere where a trained network has some, and pruned."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.networks.network_table import NETWORKS
from engine.pruning.masks import Cut, EmptyLayer, Masks, cut_masks, full_masks, prunable
from engine.pruning.techniques import TECHNIQUES
from engine.training.seeding import generator

SIZES = {"lenet": 28, "alexnet": 63}
"""Sides of the images where 32 pixels are not the right ones; CIFAR's networks take 8."""
N_CLASSES = 10


def image_side(name: str) -> int:
    """Side of the images that a small network of this name takes."""
    return SIZES.get(name, 8 if NETWORKS[name].minimum == 4 else 32)


def small_network(name: str, channels: int = 3, narrower: int = 8) -> nn.Module:
    """The network of the table, in evaluation, with an eighth of its channels; LeNet has few as it is."""
    torch.manual_seed(3)
    with torch.device("cpu" if name == "lenet" else "meta"):
        network = NETWORKS[name].build(channels, image_side(name), N_CLASSES)
    if name != "lenet":
        _narrow(network, 4 if name.startswith("resnet") and NETWORKS[name].minimum == 4 else narrower)
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.running_mean, std=0.3)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, std=0.3)
        elif isinstance(module, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            if module.bias is not None:
                nn.init.normal_(module.bias, std=0.3)
    return network.eval()


def _narrow(network: nn.Module, by: int) -> None:
    layers = [(name, m) for name, m in network.named_modules() if isinstance(m, nn.Conv2d | nn.Linear)]
    for name, layer in layers:
        if isinstance(layer, nn.Linear):
            n_out = layer.out_features if layer is layers[-1][1] else layer.out_features // by
            new: nn.Module = nn.Linear(layer.in_features // by, n_out)
        else:
            n_in = layer.in_channels if layer is layers[0][1] else layer.in_channels // by
            shape = (layer.kernel_size, layer.stride, layer.padding)
            new = nn.Conv2d(n_in, layer.out_channels // by, *shape, bias=layer.bias is not None)
        network.set_submodule(name, new)
    for name, module in list(network.named_modules()):
        if isinstance(module, nn.BatchNorm2d):
            network.set_submodule(name, nn.BatchNorm2d(module.num_features // by))
        if hasattr(module, "extra"):
            module.extra //= by


def pruned_masks(network: nn.Module, technique: str, share: float, images: Tensor) -> Masks:
    """Masks of the technique with this share cut, or the nearest smaller one that leaves every layer something."""
    row, weights = TECHNIQUES[technique], prunable(network)
    gradients = None
    if row.needs_gradient:
        labels = torch.arange(len(images)) % N_CLASSES
        loss = functional.cross_entropy(network(images), labels)
        gradients = dict(zip(weights, torch.autograd.grad(loss, list(weights.values())), strict=True))
    importances = {name: torch.rand(2, weight.numel()) for name, weight in weights.items()} if row.needs_groups else {}
    while True:
        try:
            cut = Cut(row, share, generator(0, 1, "prune"), 1e-4, importances=importances)
            return cut_masks(weights, full_masks(network), cut, gradients)
        except EmptyLayer:
            share -= 0.02
