"""Training on what structured pruning leaves: a network without inputs that are cut and outputs that nobody reads.

What it learns is written back into the whole network, so that scores, checkpoints and evaluation see all tensors as
ever. Weights of outputs that nobody reads stay, since they count in later scores, and decay as they would.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.nn import functional

from engine.networks.channel_graph import ChannelGraph, Kind, channel_graph
from engine.networks.channel_plan import ChannelPlan, channel_plan
from engine.networks.smaller_network import smaller_network
from engine.pruning.masks import Masks, apply_masks, prunable
from engine.pruning.techniques import TECHNIQUES
from engine.run_spec import RunSpec
from engine.specs.mitigation import mitigates
from engine.training.split import Split

SMALLEST = 1_000_000
"""Weights that a network has at least: a smaller one gains little, and keeps the sums that it was recorded with."""
_INNER = "inner"


@dataclass(frozen=True, eq=False)
class TrainingNetwork:
    """The smaller network that is trained in place of a whole one, its masks, and the way back."""

    network: nn.Module
    masks: Masks
    whole: nn.Module
    whole_masks: Mapping[str, Tensor]
    plan: ChannelPlan

    @torch.no_grad()
    def write_back(self) -> None:
        """Make the whole network what training it by itself would have made of it, up to rounding.

        Running means and variances of channels that nobody reads are left as they were; nothing depends on them.
        """
        decayed = float(getattr(self.network, "idle", 1.0))
        inner = self.network.get_submodule(_INNER)
        for step, kind in self.plan.graph.kinds.items():
            if kind in (Kind.LAYER, Kind.NORM):
                small = inner.get_submodule(str(step.target)) if step in self.plan.keeps else None
                self._write_module(step, small, decayed)
        apply_masks(self.whole, self.whole_masks)

    def _write_module(self, step: fx.Node, small: nn.Module | None, decayed: float) -> None:
        whole = self.whole.get_submodule(str(step.target))
        for parameter in whole.parameters():
            parameter.mul_(decayed)
        if small is None:
            return
        rows = self.plan.keeps[step].nonzero().flatten()
        learned = small.state_dict()
        for name, tensor in whole.state_dict().items():
            places = rows.to(tensor.device)
            if tensor.dim() == 0:
                tensor.copy_(learned[name])
            elif tensor.dim() == 1:
                tensor[places] = learned[name]
            else:
                columns = self.plan.reads[step, step.all_input_nodes[0]].nonzero().flatten().to(tensor.device)
                tensor[places[:, None], columns] = learned[name]


def compacts(spec: RunSpec, network: nn.Module, split: Split) -> bool:
    """Whether levels of this spec train on what pruning leaves of the network; else on all of it, with masks."""
    return _is_asked_for(spec, network) and _training_graph(network, split.inputs(split.images[:1])) is not None


def compacted_training(
    network: nn.Module, split: Split, masks: Mapping[str, Tensor], spec: RunSpec
) -> TrainingNetwork | None:
    """What is trained in place of the network; None where that is the network itself, with its masks."""
    if not _is_asked_for(spec, network) or all(bool(mask.all()) for mask in masks.values()):
        return None
    return training_network(network, split.inputs(split.images[:1]), masks, bool(spec.weight_decay))


def training_network(
    network: nn.Module, sample: Tensor, masks: Mapping[str, Tensor], decays: bool = False
) -> TrainingNetwork | None:
    """The network without what its masks leave idle, for images like the sample; None where it cannot be followed.

    `decays` says whether the training that follows lets weights decay.
    """
    graph = _training_graph(network, sample)
    if graph is None:
        return None
    plan = channel_plan(graph, masks)
    small = _WithIdleWeight(_with_plain_strides(_with_same_draws(smaller_network(plan), plan), plan), decays)
    small.to(memory_format=torch.channels_last)
    small.train(network.training)
    return TrainingNetwork(small, _smaller_masks(small, plan, masks), network, masks, plan)


def _is_asked_for(spec: RunSpec, network: nn.Module) -> bool:
    """Whether channels are cut before training begins, from a large network of which all is trained, by its answers.

    The constraint `full` looks at the gradients of all weights, those that are cut included.
    """
    looks_at_gradients = spec.constraint == "full" and mitigates(spec, 1)
    cuts_before = TECHNIQUES[spec.technique].cuts == "channels" and spec.schedule != "gradual"
    return (
        cuts_before
        and not looks_at_gradients
        and sum(weight.numel() for weight in prunable(network).values()) >= SMALLEST
    )


def _training_graph(network: nn.Module, sample: Tensor) -> ChannelGraph | None:
    """The graph of the network as it trains; None where it cannot be traced, or its dropout could draw otherwise."""
    before = network.training
    network.train()
    try:
        graph = channel_graph(network, sample, constants=False)
    except Exception:  # noqa: BLE001 - a user's own network may raise anything while it is traced
        return None
    finally:
        network.train(before)
    return graph if all(_draws_alike(graph, step) for step in graph.kinds) else None


def _draws_alike(graph: ChannelGraph, step: fx.Node) -> bool:
    """Whether what the step draws, if anything, can be drawn for all channels and used for some."""
    if step.op != "call_module" or "Dropout" not in type(graph.layer(step)).__name__:
        return True
    n_calls = sum(node.op == "call_module" and node.target == step.target for node in graph.kinds)
    return type(graph.layer(step)) is nn.Dropout and n_calls == 1 and bool(graph.values[step].dim() == 2)


def _with_same_draws(small: fx.GraphModule, plan: ChannelPlan) -> fx.GraphModule:
    """The smaller network with dropout that draws as the whole one's does."""
    for step, kept in plan.keeps.items():
        if step.op == "call_module" and isinstance(plan.graph.layer(step), nn.Dropout):
            small.set_submodule(str(step.target), _SameDraws(plan.graph.layer(step).p, kept))
    return small


def _with_plain_strides(small: fx.GraphModule, plan: ChannelPlan) -> fx.GraphModule:
    """The smaller network with its strided 1 x 1 convolutions as plain ones of every so many positions: same numbers.

    With fewer than eight input channels, oneDNN's gradients of strided ones write beyond their memory (its issue 6035).
    """
    for step in plan.keeps:
        layer = small.get_submodule(str(step.target)) if plan.graph.kinds[step] is Kind.LAYER else None
        if isinstance(layer, nn.Conv2d) and set(layer.kernel_size) == {1} and layer.padding == (0, 0):
            rows, columns = layer.stride
            if rows > 1 or columns > 1:
                layer.register_forward_pre_hook(partial(_every, rows, columns))
                layer.stride = (1, 1)
    return small


def _every(rows: int, columns: int, layer: nn.Module, operands: tuple[Tensor, ...]) -> tuple[Tensor]:
    """What a convolution takes: its operand at every so many positions."""
    return (operands[0][:, :, ::rows, ::columns],)


class _SameDraws(nn.Module):
    """Dropout for some channels, by the draws that they would get among all."""

    kept: Tensor

    def __init__(self, share: float, kept: Tensor) -> None:
        super().__init__()
        self.share, self.n_channels = share, len(kept)
        self.register_buffer("kept", kept.nonzero().flatten(), persistent=False)

    def forward(self, values: Tensor) -> Tensor:
        """The values, some of them zero."""
        if not self.training:
            return values
        draws = functional.dropout(values.new_ones(len(values), self.n_channels), self.share)
        return values * draws.index_select(1, self.kept)


class _WithIdleWeight(nn.Module):
    """A network beside one weight of 1 that it ignores: what becomes of it becomes of all weights that nobody reads."""

    def __init__(self, inner: nn.Module, decays: bool) -> None:
        super().__init__()
        self.add_module(_INNER, inner)
        self.decays = decays
        if decays:
            self.idle = nn.Parameter(next(inner.parameters()).new_ones(()))

    def forward(self, images: Tensor) -> Tensor:
        """Logits."""
        scores: Tensor = self.get_submodule(_INNER)(images)
        return scores + 0 * self.idle if self.decays else scores


def _smaller_masks(small: nn.Module, plan: ChannelPlan, masks: Mapping[str, Tensor]) -> Masks:
    """The masks of what is left, in the order of its weights."""
    kept: dict[str, Tensor] = {}
    for step in plan.keeps:
        if plan.graph.kinds[step] is Kind.LAYER:
            mask = masks[f"{step.target}.weight"]
            read: Any = plan.reads[step, step.all_input_nodes[0]]
            kept[f"{_INNER}.{step.target}.weight"] = mask[plan.keeps[step].to(mask.device)][:, read.to(mask.device)]
    return {name: kept[name] if name in kept else masks[name.removeprefix(f"{_INNER}.")] for name in prunable(small)}
