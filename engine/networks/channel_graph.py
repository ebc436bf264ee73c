"""A network as a graph of values, each with its channels on axis 1, and what every step does to channels.

Steps that are not known here are `other`: they read all channels of what they take, and give all that they give.
"""

import operator
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeGuard

import torch
from torch import Tensor, fx, nn
from torch.nn import functional
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.conv import _ConvNd

_ONE_BY_ONE = (
    *(nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.ELU, nn.GELU, nn.SiLU, nn.Hardswish, nn.Sigmoid, nn.Tanh),
    *(nn.Identity, nn.Dropout, nn.Dropout2d),
    *(nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d),
    *(nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d),
    *(nn.AdaptiveMaxPool1d, nn.AdaptiveMaxPool2d, nn.AdaptiveMaxPool3d),
)
_FUNCTIONS_ONE_BY_ONE = {
    *(functional.relu, torch.relu, functional.gelu, functional.silu, torch.sigmoid, torch.tanh),
    *(functional.max_pool2d, functional.avg_pool2d, functional.adaptive_avg_pool2d),
}
_METHODS_ONE_BY_ONE = {"relu", "sigmoid", "tanh", "contiguous", "clone"}
_PAIRWISE = {operator.add, operator.sub, operator.mul, torch.add, torch.sub, torch.mul}
_MEANS = {"mean", torch.mean}
_FLATTENINGS = {"flatten", torch.flatten}


class Kind(Enum):
    """What a step does to channels."""

    INPUT = "gives the network's input"
    LAYER = "weighs all channels of its operand into each of its own"
    NORM = "scales and shifts each channel by numbers of its own"
    SAME = "makes each channel from the same channel of its operand"
    PAIR = "makes each channel from the same channel of its two operands"
    PAD = "puts constant channels before and behind those of its operand"
    FLATTEN = "makes every position of every channel a channel"
    OTHER = "is not known"


@dataclass(frozen=True)
class ChannelGraph:
    """A traced network: its steps in order, what each does to channels, and what of each value never changes.

    `values` has each step's value for one image: a number where it is the same whatever the image, NaN elsewhere.
    """

    module: fx.GraphModule
    kinds: dict[fx.Node, Kind]
    values: dict[fx.Node, Any]

    def layer(self, step: fx.Node) -> Any:
        """The module that a step calls."""
        return self.module.get_submodule(str(step.target))

    def n_channels(self, step: fx.Node) -> int:
        """Number of channels of a step's value; 0 where it has none."""
        value = self.values.get(step)
        return value.shape[1] if isinstance(value, Tensor) and value.dim() > 1 else 0


def channel_graph(network: nn.Module, sample: Tensor, constants: bool = True) -> ChannelGraph:
    """The graph of a network that takes images like the sample; without `constants` every value is taken to vary.

    Steps are those of the mode, training or evaluation, that the network is in. Raises whatever tracing does where
    the network's own code cannot be followed.
    """
    module = fx.GraphModule(network, fx.Tracer().trace(network))
    unknown = torch.full_like(sample[:1], float("nan"))
    with torch.no_grad(), _evaluating(network):
        pass_through = _Constants(module, constants)
        pass_through.run(unknown)
    return ChannelGraph(module, pass_through.kinds, pass_through.values)


@contextmanager
def _evaluating(network: nn.Module) -> Iterator[None]:
    """Inside, every module evaluates; behind the scope each is in its own mode again."""
    before = {module: module.training for module in network.modules()}
    network.eval()
    try:
        yield
    finally:
        for module, mode in before.items():
            module.training = mode


class _Constants(fx.Interpreter):
    """Sends one image of NaNs through the graph: what comes out as a number does not depend on the image."""

    def __init__(self, module: fx.GraphModule, constants: bool) -> None:
        super().__init__(module)
        self.constants = constants
        self.kinds: dict[fx.Node, Kind] = {}
        self.values: dict[fx.Node, Any] = {}

    def run_node(self, n: fx.Node) -> Any:
        """The step's value, also noted before a later step may change it in place."""
        kind = self.kinds[n] = self._kind(n)
        result = self._layer(n) if kind is Kind.LAYER and self.constants else super().run_node(n)
        if isinstance(result, Tensor) and result.is_floating_point():
            if kind is Kind.OTHER or (not self.constants and n.op != "get_attr"):
                result = torch.full_like(result, float("nan"))
            elif kind is Kind.NORM:
                result = self._norm(n, result)
            self.values[n] = result.cpu().clone()
            if kind in (Kind.SAME, Kind.PAIR) and result.shape[1:2] != self.values[n.all_input_nodes[0]].shape[1:2]:
                self.kinds[n] = Kind.OTHER
        return result

    def _layer(self, step: fx.Node) -> Tensor:
        """What a layer makes of constants: outputs that read only constants are constants."""
        layer, operand = self.submodules[str(step.target)], self.env[step.all_input_nodes[0]]
        varies, known = operand.isnan(), operand.nan_to_num(0.0).double()
        used = layer.weight != 0
        bias = None if layer.bias is None else layer.bias.double()
        if isinstance(layer, nn.Linear):
            is_open = used[:, varies[0]].any(1)[None]
            result = functional.linear(known, layer.weight.double(), bias) if known.any() else bias
        else:
            is_open = _convolved(layer, varies.to(layer.weight.dtype), used.to(layer.weight.dtype), None) > 0
            result = _convolved(layer, known, layer.weight.double(), bias)
        numbers = known.new_zeros(is_open.shape) if result is None else result
        return numbers.to(layer.weight.dtype).expand(is_open.shape).masked_fill(is_open, float("nan"))

    def _norm(self, step: fx.Node, result: Tensor) -> Tensor:
        """A norm's value, with the shift alone where its scale is zero."""
        norm = self.submodules[str(step.target)]
        if norm.weight is None:
            return result
        shape = (1, -1, *[1] * (result.dim() - 2))
        return torch.where((norm.weight == 0).view(shape), norm.bias.view(shape), result)

    def _kind(self, step: fx.Node) -> Kind:
        operands = [self.env[node] for node in step.all_input_nodes] if step.op != "output" else []
        if step.op == "placeholder":
            return Kind.INPUT
        if len(operands) == 2 and step.target in _PAIRWISE and not step.kwargs and _are_alike(*operands):
            return Kind.PAIR
        if len(operands) != 1 or not _has_channels(operands[0]):
            return Kind.OTHER
        if step.op == "call_module":
            is_only_call = [node.target for node in self.graph.nodes if node.op == step.op].count(step.target) == 1
            return _kind_of_module(self.submodules[str(step.target)], operands[0], is_only_call)
        return _kind_of_call(step, operands[0])


def _convolved(layer: Any, operand: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """What the convolution gives with another weight and bias."""
    result: Tensor = layer._conv_forward(operand, weight, bias)
    return result


def _are_alike(first: object, second: object) -> bool:
    """Whether both are tensors with the same channels."""
    if not _has_channels(first) or not _has_channels(second):
        return False
    return first.dim() == second.dim() and first.shape[1] == second.shape[1]


def _has_channels(value: object) -> TypeGuard[Tensor]:
    return isinstance(value, Tensor) and value.is_floating_point() and value.dim() > 1


def _kind_of_module(module: nn.Module, operand: Tensor, is_only_call: bool) -> Kind:
    if type(module) in _ONE_BY_ONE:
        return Kind.SAME
    if type(module) is nn.Flatten:
        return Kind.FLATTEN if (module.start_dim, module.end_dim) == (1, -1) else Kind.OTHER
    if not is_only_call:
        return Kind.OTHER
    if isinstance(module, _BatchNorm):
        return Kind.NORM if module.track_running_stats else Kind.OTHER
    if type(module) is nn.Linear and operand.dim() == 2:
        return Kind.LAYER
    if not isinstance(module, _ConvNd) or module.groups != 1 or module.transposed:
        return Kind.OTHER
    return Kind.LAYER if operand.dim() == module.weight.dim() else Kind.OTHER


def _kind_of_call(step: fx.Node, operand: Tensor) -> Kind:
    target, arguments = step.target, step.args[1:]
    if target in _FUNCTIONS_ONE_BY_ONE or (step.op == "call_method" and target in _METHODS_ONE_BY_ONE):
        return Kind.OTHER if step.kwargs.get("return_indices") else Kind.SAME
    if target is operator.getitem and isinstance(arguments[0], tuple):
        is_whole = len(arguments[0]) > 2 and arguments[0][:2] == (slice(None), slice(None))
        return Kind.SAME if is_whole and all(isinstance(part, slice) for part in arguments[0]) else Kind.OTHER
    if target is functional.pad:
        return _kind_of_padding(step, operand)
    if target in _FLATTENINGS and not step.kwargs and arguments == (1,):
        return Kind.FLATTEN
    if target in _MEANS and not step.kwargs and arguments and isinstance(arguments[0], tuple):
        axes = {axis % operand.dim() for axis in arguments[0] if isinstance(axis, int)}
        return Kind.SAME if len(axes) == len(arguments[0]) and not axes & {0, 1} else Kind.OTHER
    if target in _PAIRWISE and not step.kwargs and all(isinstance(a, int | float) for a in arguments):
        return Kind.SAME
    return Kind.OTHER


def _kind_of_padding(step: fx.Node, operand: Tensor) -> Kind:
    """The kind of `functional.pad`: it pads with a constant, and the batch not at all."""
    widths = step.args[1] if len(step.args) > 1 else None
    is_constant = step.kwargs.get("mode", "constant") == "constant" and len(step.args) == 2
    if not is_constant or not isinstance(widths, tuple) or len(widths) > 2 * (operand.dim() - 1):
        return Kind.OTHER
    if not all(isinstance(width, int) and width >= 0 for width in widths):
        return Kind.OTHER
    return Kind.PAD if len(widths) == 2 * (operand.dim() - 1) else Kind.SAME
