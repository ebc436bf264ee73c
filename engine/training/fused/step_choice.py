"""Which step trains a network: the compiled one where it fits network, device and machine, else torch's own."""

import importlib
import importlib.util
from functools import cache
from typing import TYPE_CHECKING

import torch
from torch import nn

from engine.networks.architectures import LeNet
from engine.run_spec import RunSpec
from engine.specs.arithmetic import EAGER, FUSED, PORTABLE, chosen_arithmetic

if TYPE_CHECKING:
    from engine.training.fused.lenet_step import LeNetStep


def step_name(network: nn.Module) -> str:
    """What trains the network here, as far as it decides how sums are rounded: `fused`, or `eager` and why."""
    if not _fits(network) or chosen_arithmetic() != PORTABLE:
        return EAGER
    capabilities = torch.cpu.get_capabilities()
    if not (capabilities.get("avx2", False) and capabilities.get("fma3", False)):
        return f"{EAGER} (this processor lacks AVX2 or FMA)"
    if importlib.util.find_spec("numba") is None:
        return f"{EAGER} (numba is not installed)"
    trouble = _trouble()
    return f"{EAGER} ({trouble})" if trouble else FUSED


def fused_step(network: nn.Module, size: int, spec: RunSpec) -> "LeNetStep | None":
    """The compiled step of a network that sees images of this size; None where torch's is to be taken."""
    if step_name(network) != FUSED:
        return None
    from engine.training.fused.lenet_step import LeNetStep

    assert isinstance(network, LeNet)
    return LeNetStep(network, size, spec)


@cache
def _trouble() -> str:
    """Why the compiled step cannot be loaded, where numba is installed but broken; empty where it can."""
    try:
        importlib.import_module("engine.training.fused.lenet_step")
    except Exception as error:  # numba refuses a numpy that it does not know by ImportError, a broken LLVM by others
        said = (str(error).strip().splitlines() or [""])[0].partition(" (/")[0]  # where it lies is not for records
        return f"numba cannot be loaded: {type(error).__name__}: {said}"
    return ""


def _fits(network: nn.Module) -> bool:
    """Whether this is the table's LeNet on the CPU, whole and with nothing hung into it."""
    if type(network) is not LeNet:
        return False
    modules, parameters = list(network.modules()), list(network.parameters())
    fresh = (6, 16, 120, 84, network.linear3.out_features)
    return (
        tuple(len(parameter) for parameter in parameters[::2]) == fresh
        and [name for name, _ in network.named_parameters()] == [*_NAMES]
        and all(p.device.type == "cpu" and p.dtype == torch.float32 and p.requires_grad for p in parameters)
        and not any(m._forward_hooks or m._forward_pre_hooks or m._backward_hooks for m in modules)
    )


_NAMES = tuple(
    f"{layer}.{kind}" for layer in ("conv1", "conv2", "linear1", "linear2", "linear3") for kind in ("weight", "bias")
)
