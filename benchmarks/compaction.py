"""Steps of training on what pruning leaves of AlexNet, beside the same steps with masks: 64 x 64 images, batch 128.

Twenty levels, each with a fifth of the input channels that remain cut; both sides take turns at every level, on one
thread, in seconds of the processor. Finding what is left and writing it back counts as in an epoch of 50,000 images.
"""

import statistics
import time
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import nn

from engine.networks.network_table import NETWORKS
from engine.pruning.masks import Cut, Masks, apply_masks, cut_masks, full_masks, prunable, sparsity
from engine.pruning.techniques import TECHNIQUES
from engine.run_spec import RunSpec
from engine.training.device import reproducible
from engine.training.loop import TrainingJob, train_network
from engine.training.seeding import generator
from engine.training.split import Split, make_split

SIDE, BATCH, N_LEVELS = 64, 128, 20
N_STEPS_OF_EPOCH = 391
COMPACTED = RunSpec("cifar10", "alexnet", "l1_structured", batch_size=BATCH, momentum=0.9, weight_decay=5e-4)
MASKED = replace(COMPACTED, technique="l1_unstructured")
"""Given the same masks, a technique that cuts single weights trains with masks."""


@dataclass(frozen=True)
class Cost:
    """Seconds of one step, and those that a level costs beside its steps."""

    step: float
    level: float

    @property
    def of_epoch(self) -> float:
        return self.level + N_STEPS_OF_EPOCH * self.step


def run() -> float:
    """How many times as fast the twenty levels are."""
    draw = np.random.default_rng(0)
    images = draw.integers(0, 256, (BATCH, 3, SIDE, SIDE), dtype=np.uint8)
    with reproducible(torch.device("cpu")):
        split = make_split(images, draw.integers(0, 10, BATCH), images, SIDE, torch.device("cpu"))
        torch.manual_seed(0)
        network = NETWORKS["alexnet"].build(3, SIDE, 10).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return _ratio(network, split)


def _ratio(network: nn.Module, split: Split) -> float:
    masks, totals = full_masks(network), [0.0, 0.0]
    for level in range(1, N_LEVELS + 1):
        cut = Cut(TECHNIQUES[COMPACTED.technique], 0.2, generator(0, level, "prune"))
        masks = cut_masks(prunable(network), masks, cut)
        apply_masks(network, masks)
        masked, compacted = (_cost(network, split, masks, *side) for side in ((MASKED, 2), (COMPACTED, 4)))
        totals = [total + cost.of_epoch for total, cost in zip(totals, (masked, compacted), strict=True)]
        print(
            f"level {level:2}, {sparsity(masks):.1%} cut: {1e3 * masked.step:,.0f} and {1e3 * compacted.step:,.0f} ms "
            f"a step, {masked.step / compacted.step:.1f} times; {compacted.level:.1f} s a level beside them",
            flush=True,
        )
    return totals[0] / totals[1]


def _cost(network: nn.Module, split: Split, masks: Masks, spec: RunSpec, n_steps: int) -> Cost:
    """What a level of so many steps costs; the first one, in which libraries warm up, is left out."""
    ends: list[float] = []
    job = TrainingJob(spec, n_steps, generator(0, 1, "order"), lambda epoch: ends.append(time.process_time()))
    begun = time.process_time()
    train_network(network, split, masks, job)
    whole = time.process_time() - begun
    step = statistics.median(after - before for before, after in zip(ends, ends[1:], strict=False))
    return Cost(step, max(0.0, whole - n_steps * step))
