"""A pruned network that does better than the dense one has often just trained longer: that is said where it shows."""

from dataclasses import replace

from engine.records import RunSpec
from pages.shared import formats

LITTLE = 0.005
"""A gain of accuracy below this needs no explanation."""

GAIN = 0.02
"""A gain of accuracy above which pruning alone is no explanation, however long the training."""


def epochs_in_all(spec: RunSpec, technique: str, treatment: str, level: int) -> int:
    """Epochs behind the weights of a network at this level; rewinding forgets those before."""
    after = replace(spec, technique=technique).n_epochs_after
    if not level or not after:
        return spec.epochs
    if treatment != "finetune":
        return after
    return spec.epochs + after * (level if spec.schedule == "iterative" else 1)


def gain_sentence(spec: RunSpec, technique: str, treatment: str, level: int, gain: float) -> str:
    """What a network gains in accuracy on the dense one, and why that is not pruning alone; empty if it is little."""
    epochs = epochs_in_all(spec, technique, treatment, level)
    if gain > LITTLE and epochs > spec.epochs > 0:
        return (
            f"It gains {formats.points_in_words(gain)} on the dense network, but trained for {epochs} epochs in all, "
            f"that one for {spec.epochs}: part of what it gains is training, not pruning."
        )
    if gain > GAIN:
        return (
            f"It gains {formats.points_in_words(gain)}: the dense network was not trained to its best, so part of what "
            "changes is training, not pruning."
        )
    return ""
