"""The networks that torchvision does not have, and how one of its networks is fitted to other channels."""

from torch import Tensor, nn
from torch.nn import functional


class LeNet(nn.Module):
    """LeNet of Paganini's case study: two blocks of 3 x 3 convolution, ReLU, max-pool, then three linear layers.

    Pooling stands before ReLU: both orders give the same numbers and this one does a quarter of the work.
    """

    def __init__(self, channels: int, size: int, n_classes: int) -> None:
        super().__init__()
        side = ((size - 2) // 2 - 2) // 2
        self.conv1 = nn.Conv2d(channels, 6, 3)
        self.conv2 = nn.Conv2d(6, 16, 3)
        self.linear1 = nn.Linear(16 * side * side, 120)
        self.linear2 = nn.Linear(120, 84)
        self.linear3 = nn.Linear(84, n_classes)

    def forward(self, images: Tensor) -> Tensor:
        """Logits."""
        maps = functional.relu(functional.max_pool2d(self.conv1(images), 2))
        maps = functional.relu(functional.max_pool2d(self.conv2(maps), 2))
        hidden = functional.relu(self.linear1(maps.flatten(1)))
        scores: Tensor = self.linear3(functional.relu(self.linear2(hidden)))
        return scores


class ResidualBlock(nn.Module):
    """Two 3 x 3 convolutions beside a shortcut that takes no weights: strided, with zero channels added."""

    def __init__(self, channels_in: int, channels_out: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels_out, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels_out)
        self.conv2 = nn.Conv2d(channels_out, channels_out, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels_out)
        self.stride = stride
        self.extra = channels_out - channels_in

    def forward(self, maps: Tensor) -> Tensor:
        """Maps of the next stage."""
        shortcut = maps[:, :, :: self.stride, :: self.stride]
        if self.extra:
            shortcut = functional.pad(shortcut, (0, 0, 0, 0, 0, self.extra))
        inner = functional.relu(self.norm1(self.conv1(maps)))
        return functional.relu(self.norm2(self.conv2(inner)) + shortcut)


class CifarResNet(nn.Module):
    """The residual networks of He 2015 for CIFAR: 6n + 2 layers in three stages of 16, 32 and 64 maps."""

    def __init__(self, channels: int, n_classes: int, depth: int) -> None:
        super().__init__()
        n_blocks = (depth - 2) // 6
        self.conv = nn.Conv2d(channels, 16, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(16)
        stages = [(16, 16, 1), (16, 32, 2), (32, 64, 2)]
        self.blocks = nn.Sequential(
            *(
                ResidualBlock(before if block == 0 else after, after, stride if block == 0 else 1)
                for before, after, stride in stages
                for block in range(n_blocks)
            )
        )
        self.linear = nn.Linear(64, n_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")

    def forward(self, images: Tensor) -> Tensor:
        """Logits."""
        maps = self.blocks(functional.relu(self.norm(self.conv(images))))
        scores: Tensor = self.linear(maps.mean((2, 3)))
        return scores


def fit_first_layer(network: nn.Module, channels: int) -> nn.Module:
    """The same network with its first convolution taking `channels` channels."""
    name, first = next((n, m) for n, m in network.named_modules() if isinstance(m, nn.Conv2d))
    if first.in_channels == channels:
        return network
    fitted = nn.Conv2d(
        channels,
        first.out_channels,
        first.kernel_size,  # type: ignore[arg-type]
        first.stride,  # type: ignore[arg-type]
        first.padding,  # type: ignore[arg-type]
        bias=first.bias is not None,
    )
    network.set_submodule(name, fitted)
    return network
