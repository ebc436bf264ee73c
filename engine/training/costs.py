"""What a network costs whoever runs it, without the channels that do nothing: weights, multiplications, bytes."""

import copy
import zlib

import torch
from safetensors.torch import save
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from engine.networks.compact import compacted

MOST_ZIPPED = 64_000_000
"""Bytes of a file that is still zipped to see how small it gets; more takes longer than it is worth."""


def level_costs(network: nn.Module, inputs: Tensor) -> dict[str, float]:
    """What the network costs once it is compacted; `inputs` are two images or more as it takes them."""
    small = compacted(copy.deepcopy(network).cpu(), inputs.cpu()).network
    return {**weight_counts(small), "macs": macs(small, inputs.cpu()), **file_sizes(small.state_dict())}


def weight_counts(network: nn.Module) -> dict[str, int]:
    """Weights of matrices and kernels: those that are not zero, and all that a file holds."""
    weights = [tensor for tensor in network.state_dict().values() if tensor.is_floating_point() and tensor.dim() > 1]
    nonzero = sum(int(torch.count_nonzero(tensor)) for tensor in weights)
    return {"weights": nonzero, "stored": sum(tensor.numel() for tensor in weights)}


def macs(network: nn.Module, inputs: Tensor) -> int:
    """Multiplications with addition that one image takes, those by zero included, as ordinary kernels do them all."""
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        network(inputs[:1])
    return int(counter.get_total_flops() // 2)


def file_sizes(tensors: dict[str, Tensor]) -> dict[str, float]:
    """Bytes of the tensors as a safetensors file, and when that is zipped, which is where zeros count.

    NaN where the file is too large to zip it in passing.
    """
    content = save({name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()})
    return {"bytes": len(content), "bytes_zipped": zipped(content) if len(content) <= MOST_ZIPPED else torch.nan}


def zipped(content: bytes) -> int:
    """Bytes of a file when it is zipped."""
    return len(zlib.compress(content, 6))
