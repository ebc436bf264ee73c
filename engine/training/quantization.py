"""Weights and activations in eight bits, after training: one row per way.

Integer arithmetic is a matter of the CPU here: a quantized network is a copy there, whatever device trained it.
"""

import copy
import logging
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from engine.training.split import Split

N_CALIBRATION = 100
"""Training images that show a static quantization how large activations become (Hooker 2020)."""


@contextmanager
def exact_integer_products() -> Iterator[None]:
    """Inside, products of eight-bit integers on the CPU are exact; behind it they are torch's own again.

    With AVX2 alone, torch's own overflow on the way. The kernel that stands in meanwhile does so for all threads.
    """
    library = cast(Any, torch.library).Library("aten", "IMPL")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a kernel was there
            library.impl("_int_mm", _exact_product, "CPU", allow_override=True)
        yield
    finally:
        library._destroy()


def _exact_product(first: Tensor, second: Tensor) -> Tensor:
    """The product of two matrices of eight-bit integers; doubles hold a million summands exactly, in any order."""
    return (first.double() @ second.double()).to(torch.int32)


@dataclass(frozen=True)
class Quantized:
    """A network in eight bits, and the tensors that it needs on disk."""

    network: nn.Module
    tensors: dict[str, Tensor]

    @property
    def plain(self) -> nn.Module:
        """The network with torch's own products of integers, which can be exported."""
        network: nn.Module = self.network._network[0] if isinstance(self.network, _InEightBits) else self.network
        return network


def quantize_network(network: nn.Module, way: str, calibration: Split) -> Quantized:
    """A quantized copy of the network; activations are shown the first hundred images of the split."""
    plain = copy.deepcopy(network).to("cpu").eval()
    sample = on_cpu(calibration.part(torch.arange(min(N_CALIBRATION, len(calibration)))))
    with _quiet(), torch.no_grad():
        return WAYS[way](plain, sample.inputs(sample.images))


def on_cpu(split: Split) -> Split:
    """The split where quantized networks work."""
    fields = ("labels", "mean", "deviation")
    on_it = {name: getattr(split, name).cpu() for name in fields}
    return replace(split, stored=split.images.cpu(), **on_it, groups=None, rows=None)


def _dynamic(network: nn.Module, images: Tensor) -> Quantized:
    """Linear layers alone; each image's activations are scaled by themselves."""
    from torchao.quantization import Int8DynamicActivationInt8WeightConfig, quantize_

    quantize_(network, Int8DynamicActivationInt8WeightConfig())
    tensors: dict[str, Tensor] = {}
    for name, tensor in network.state_dict().items():
        parts = {"": tensor} if type(tensor) in (Tensor, nn.Parameter) else _parts(tensor)
        tensors |= {f"{name}{part}": value for part, value in parts.items()}
    return Quantized(_InEightBits(network), tensors)


def _static(network: nn.Module, images: Tensor) -> Quantized:
    """Every layer; activations have one scale, fixed by what the calibration images made of them."""
    from torch.export import Dim, export
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86

    graph = export(network, (images[:2],), dynamic_shapes=({0: Dim("n")},)).module()
    layers = x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config())
    prepared = prepare_pt2e(graph, layers)
    prepared(images)
    converted = convert_pt2e(prepared)
    held = dict(converted.named_parameters()) | dict(converted.named_buffers())
    used = [str(node.target) for node in converted.graph.nodes if node.op == "get_attr"]
    return Quantized(_InEightBits(converted), {name: held[name] for name in used if name in held})


WAYS: dict[str, Callable[[nn.Module, Tensor], Quantized]] = {"int8_dynamic": _dynamic, "int8_static": _static}


class _InEightBits(nn.Module):
    """A quantized network, wherever it is asked: its products are exact.

    It is in evaluation for good; an exported graph refuses to be told so, and is kept out of sight.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self._network = [network]

    def forward(self, images: Tensor) -> Tensor:
        with exact_integer_products():
            logits: Tensor = self._network[0](images)
        return logits


def _parts(tensor: Tensor) -> dict[str, Tensor]:
    """The plain tensors inside one of torchao's."""
    names, _ = tensor.__tensor_flatten__()  # type: ignore[attr-defined]
    return {f".{name}": getattr(tensor, name) for name in names}


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what the tools say of their own future, and what they leave in the environment for themselves."""
    before, variables = logging.root.manager.disable, set(os.environ)
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
        for name in set(os.environ) - variables:
            del os.environ[name]
