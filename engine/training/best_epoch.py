"""The weights of the best epoch so far, judged by the loss on validation."""

import math

from torch import Tensor, nn

from engine.training.evaluation import evaluate_network
from engine.training.split import Split


class BestEpoch:
    """What the network was after the epoch with the smallest mean loss on the split; of equals the earliest.

    The loss is the plain cross entropy, whatever training makes small; one that is not finite is the largest.
    """

    def __init__(self, split: Split) -> None:
        self.split = split
        self.forget()

    def forget(self) -> None:
        """Start anew: what was looked at before does not count any more, as it had other masks."""
        self._loss, self._state = math.inf, dict[str, Tensor]()

    def look(self, network: nn.Module) -> None:
        """Keep the network as it is now where it is better than all before; it goes on in training mode."""
        loss = float(evaluate_network(network, self.split).loss.mean())
        network.train()
        if not self._state or loss < self._loss:
            self._loss = loss if math.isfinite(loss) else math.inf
            self._state = {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}

    def restore(self, network: nn.Module) -> None:
        """Make the network what it was then."""
        network.load_state_dict(self._state)
