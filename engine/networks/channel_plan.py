"""Which channels of every value a network can do without, by two exact rules.

A channel that every reader ignores goes. A channel that is the same whatever the image goes where its readers can take
it into their biases: a convolution that pads with zeros cannot, unless the channel is zero itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, fx, nn

from engine.networks.channel_graph import ChannelGraph, Kind

SELECTING = 350
"""Multiplications that take as long as selecting one number: measured in ONNX Runtime, LeNet, batch 256."""


@dataclass(frozen=True)
class ChannelPlan:
    """What stays of a network: the channels that each value keeps, and those that each step reads of its operands.

    A step that is not in `keeps` is not needed. An operand that is in `numbers` is the same whatever the image: the
    step takes these numbers in its place, one per channel that it keeps.
    """

    graph: ChannelGraph
    keeps: dict[fx.Node, Tensor]
    reads: dict[tuple[fx.Node, fx.Node], Tensor]
    numbers: dict[tuple[fx.Node, fx.Node], Tensor]


def channel_plan(graph: ChannelGraph, used: Mapping[str, Tensor] | None = None) -> ChannelPlan:
    """What stays of the graph.

    `used` says of each layer, by the name of its weight, which weights count; without it those that are not zero do.
    """
    plan = ChannelPlan(graph, {}, {}, {})
    needed = {step: _none(graph, step) for step in graph.kinds}
    for step in reversed(graph.kinds):
        kept = _kept(graph, step, needed[step])
        if kept is None:
            continue
        plan.keeps[step] = kept
        for operand in step.all_input_nodes:
            read = _read(plan, step, operand, used)
            plan.reads[step, operand] = read
            needed[operand] |= read
    return plan


def uniform_numbers(graph: ChannelGraph, step: fx.Node) -> Tensor:
    """Per channel, the number that it is at every position whatever the image; NaN where there is no such number."""
    positions = graph.values[step][0].flatten(1) if graph.values[step].dim() > 2 else graph.values[step][0][:, None]
    first: Tensor = positions[:, 0]
    return torch.where((positions == first[:, None]).all(1), first, float("nan"))


def _none(graph: ChannelGraph, step: fx.Node) -> Tensor:
    return torch.zeros(graph.n_channels(step), dtype=torch.bool)


def _kept(graph: ChannelGraph, step: fx.Node, needed: Tensor) -> Tensor | None:
    """The channels that a step gives; None where nobody reads it."""
    kind = graph.kinds[step]
    if kind is Kind.INPUT or (kind is Kind.OTHER and (step.users or step.op == "output")):
        return torch.ones_like(needed)
    if not needed.any():
        return None
    if kind is Kind.FLATTEN:
        return _maps(graph, step, needed).repeat_interleave(_n_positions(graph, step))
    return needed


def _n_positions(graph: ChannelGraph, flatten: fx.Node) -> int:
    return graph.n_channels(flatten) // graph.n_channels(flatten.all_input_nodes[0])


def _maps(graph: ChannelGraph, flatten: fx.Node, needed: Tensor) -> Tensor:
    """The channels of which a flattening's readers need at least one position."""
    return needed.view(-1, _n_positions(graph, flatten)).any(1)


def _read(plan: ChannelPlan, step: fx.Node, operand: fx.Node, used: Mapping[str, Tensor] | None) -> Tensor:
    """The channels of its operand that a step reads so that it can give those that it keeps."""
    graph, kept, kind = plan.graph, plan.keeps[step], plan.graph.kinds[step]
    if kind is Kind.LAYER:
        counts = graph.layer(step).weight != 0 if used is None else used[f"{step.target}.weight"]
        read = _read_by_layer(graph, step, operand, counts.cpu()[kept].transpose(0, 1).flatten(1).any(1))
        return _worth_selecting(graph, operand, read, int(kept.sum()))
    if kind is Kind.PAIR:
        return _read_by_pair(plan, step, operand)
    if kind is Kind.PAD:
        widths: Any = step.args[1]
        return kept[widths[-2] :][: graph.n_channels(operand)]
    if kind is Kind.FLATTEN:
        return _maps(graph, step, kept)
    if kind is Kind.OTHER:
        return torch.ones(graph.n_channels(operand), dtype=torch.bool)
    return kept


def _read_by_layer(graph: ChannelGraph, step: fx.Node, operand: fx.Node, weighed: Tensor) -> Tensor:
    """Of the channels that are weighed, those that do not fit into the layer's bias; at least one, as torch asks."""
    numbers = uniform_numbers(graph, operand)
    fits = numbers == 0 if pads_with_zeros(graph.layer(step)) else ~numbers.isnan()
    read = weighed & ~fits
    if not read.any():
        read[0] = True
    return read


def _worth_selecting(graph: ChannelGraph, operand: fx.Node, read: Tensor, n_outputs: int) -> Tensor:
    """What is read, or of flattened maps all positions where picking single ones would take longer than it saves."""
    flatten = operand
    while graph.kinds[flatten] is Kind.SAME and graph.values[flatten].dim() == 2:
        flatten = flatten.all_input_nodes[0]
    if graph.kinds[flatten] is not Kind.FLATTEN:
        return read
    whole = _maps(graph, flatten, read).repeat_interleave(_n_positions(graph, flatten))
    n_saved = int(whole.sum() - read.sum()) * n_outputs
    return read if n_saved >= SELECTING * int(read.sum()) else whole


def pads_with_zeros(layer: nn.Module) -> bool:
    """Whether the layer is a convolution that sees zeros around its operand."""
    padding = getattr(layer, "padding", 0)
    is_padded = padding == "same" or (isinstance(padding, tuple) and any(padding))
    return is_padded and getattr(layer, "padding_mode", "") == "zeros"


def _read_by_pair(plan: ChannelPlan, step: fx.Node, operand: fx.Node) -> Tensor:
    """All that the step keeps; nothing where that does not depend on the image and the other operand does."""
    kept = plan.keeps[step]
    others = [node for node in step.all_input_nodes if node is not operand]
    numbers = uniform_numbers(plan.graph, operand)[kept]
    if numbers.isnan().any() or not others:
        return kept
    other, whole = plan.graph.values[others[0]], plan.graph.values[step]
    if other.shape == whole.shape and other[:, kept].isnan().any():
        plan.numbers[step, operand] = numbers
        return torch.zeros_like(kept)
    return kept
