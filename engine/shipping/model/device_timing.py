"""Milliseconds of networks on a device of torch's, such as CUDA: in turns, each call waited for."""

from collections.abc import Callable, Sequence
from copy import deepcopy

import torch
from torch import Tensor, nn

from engine.shipping.model.measure import Timing, timings


def device_timings(networks: Sequence[nn.Module], images: Tensor, device: torch.device) -> list[Timing]:
    """Milliseconds of each network on these images, which lie on the device already."""
    shown = images.to(device)

    def call_of(network: nn.Module) -> Callable[[], object]:
        moved = deepcopy(network).to(device)

        def call() -> None:
            with torch.no_grad():
                moved(shown)
            if device.type == "cuda":
                torch.cuda.synchronize(device)

        return call

    return timings([call_of(network) for network in networks])
