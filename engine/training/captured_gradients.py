"""Gradients of the plain loss by a CUDA graph: launched as a whole, where a small network's kernels take longer to
launch than to compute. The kernels are torch's own, so that the numbers are too.

Only loss and gradients are captured. The step that follows reads the rate and the masks of the moment, and is a few
launches for all weights together.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from engine.run_spec import RunSpec

N_EAGER = 3
"""Batches that are computed as usual first, so that libraries have chosen their ways before anything is captured."""
RANDOM_LAYERS = (nn.modules.dropout._DropoutNd, nn.RReLU, nn.FractionalMaxPool2d)
"""Layers that draw: what a graph draws has not been shown to be what torch does by itself."""
KNOWN = ("torch", "torchvision", "engine")
"""Packages whose layers read nothing back from the device; a user's own may."""

Gradients = Callable[[Tensor, Tensor], Sequence[Tensor]]


def can_be_captured(network: nn.Module, spec: RunSpec, device: torch.device, has_objective: bool) -> bool:
    """Whether a graph does the same: on CUDA, in full precision, by the plain loss, where no layer draws or reads."""
    if device.type != "cuda" or has_objective or spec.precision != "full":
        return False
    own = any(type(module).__module__.split(".")[0] not in KNOWN for module in network.modules())
    return not own and not any(isinstance(module, RANDOM_LAYERS) for module in network.modules())


class CapturedGradients:
    """Gradients of batches shaped as the first; those of another, as an epoch's last, are computed as usual.

    The network's parameters may change in place only: a graph reads from where they were.
    """

    def __init__(self, eager: Gradients) -> None:
        self._eager, self._n_left = eager, N_EAGER
        self._graph: torch.cuda.CUDAGraph | None = None
        self._shape: torch.Size | None = None
        self._images, self._labels, self._gradients = torch.empty(0), torch.empty(0), tuple[Tensor, ...]()

    def __call__(self, images: Tensor, labels: Tensor) -> Sequence[Tensor]:
        """Gradients of one batch; valid until the next."""
        self._shape = self._shape or images.shape
        if images.shape != self._shape:
            return self._eager(images, labels)
        if self._n_left:
            return self._warm_up(images, labels)
        graph = self._graph = self._graph or self._capture(images, labels)
        self._images.copy_(images)
        self._labels.copy_(labels)
        graph.replay()
        return self._gradients

    def _warm_up(self, images: Tensor, labels: Tensor) -> Sequence[Tensor]:
        """A batch as usual, on another stream, as one is captured on."""
        self._n_left -= 1
        here = torch.cuda.current_stream(images.device)
        beside = torch.cuda.Stream(images.device)  # type: ignore[no-untyped-call]
        beside.wait_stream(here)
        with torch.cuda.stream(beside):
            gradients = self._eager(images, labels)
        here.wait_stream(beside)
        return gradients

    def _capture(self, images: Tensor, labels: Tensor) -> torch.cuda.CUDAGraph:
        """Write down what a batch of this shape launches; nothing is computed yet."""
        self._images, self._labels = images.clone(), labels.clone()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.device(images.device), torch.cuda.graph(graph):
            self._gradients = tuple(self._eager(self._images, self._labels))
        return graph
