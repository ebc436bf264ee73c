"""The chosen network without the channels that it can do without: same answers, fewer weights, plain modules.

What may go, and why the answers stay, is in `engine/networks/channel_plan`.
"""

import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from engine.networks.channel_graph import ChannelGraph, Kind, channel_graph
from engine.networks.channel_plan import ChannelPlan, channel_plan
from engine.networks.smaller_network import smaller_network

TOLERANCE = 1e-5
"""How far an answer on the sample may move, in shares of the largest: rounding does, a wrong step does more."""


@dataclass(frozen=True)
class Compacted:
    """A network for inference that masks are no part of, and what its users should know, in sentences."""

    network: nn.Module
    notes: tuple[str, ...]


def compacted(network: nn.Module, sample: Tensor) -> Compacted:
    """The network, as it evaluates, without channels that nobody reads or that never change.

    Weights that were cut are zero in it; the sample is some images as it takes them. A network whose code cannot be
    followed comes back whole, and the notes say so.
    """
    whole = copy.deepcopy(network).eval()
    try:
        graph = channel_graph(whole, sample)
    except Exception as error:  # noqa: BLE001 - a user's own network may raise anything while it is traced
        return Compacted(whole, (f"Nothing was removed: the network's code could not be traced ({error}).",))
    plan = channel_plan(graph)
    small = smaller_network(plan).eval()
    if not _answers_alike(whole, small, sample):
        return Compacted(whole, ("Nothing was removed: without the idle channels the model would answer differently.",))
    return Compacted(small, (*_ignored_inputs(plan), _removed(whole, small)))


@torch.no_grad()
def _answers_alike(whole: nn.Module, small: nn.Module, sample: Tensor) -> bool:
    expected, answers = whole(sample), small(sample)
    return bool((answers - expected).abs().max() <= TOLERANCE * expected.abs().max().clamp(min=1.0))


def _ignored_inputs(plan: ChannelPlan) -> tuple[str, ...]:
    """One sentence per channel of the input that nothing reads."""
    graph: ChannelGraph = plan.graph
    sentences: list[str] = []
    for step in (step for step, kind in graph.kinds.items() if kind is Kind.INPUT):
        reads = [read for (_, operand), read in plan.reads.items() if operand is step]
        if not reads:
            continue
        n_channels = graph.n_channels(step)
        for number in (~torch.stack(reads).any(0)).nonzero().flatten().tolist():
            sentences.append(f"The model ignores colour channel {number + 1} of {n_channels} of its input.")
    return tuple(sentences)


def _removed(whole: nn.Module, small: nn.Module) -> str:
    before, after = (sum(p.numel() for p in network.parameters()) for network in (whole, small))
    if after >= before:
        return "No channel could be removed without changing an answer."
    return f"{before - after:,} of {before:,} weights and biases were removed without changing an answer."
