"""How long a sweep takes on this machine: measured on a few training steps of each kind of run."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch

from engine.laboratory import Laboratory, open_laboratory
from engine.masks import full_masks
from engine.randomness import generator
from engine.records import PruneScopeError, RunSpec
from engine.training import Lesson, evaluate_network, train_network

MEASURED_IMAGES = 4000


def estimate(specs: Sequence[RunSpec], root: Path, device: str, workers: int) -> Iterator[str]:
    """Lines in words: what was measured for each data set and network, and what the whole takes."""
    kinds: dict[tuple[str, ...], list[RunSpec]] = {}
    for spec in specs:
        kind = (spec.dataset, spec.split, spec.network, str(spec.batch_size), str(spec.image_size), str(spec.crop))
        kinds.setdefault(kind, []).append(spec)
    total, unknown = 0.0, 0
    for of_kind in kinds.values():
        first = of_kind[0]
        try:
            lab = open_laboratory(first, root, device)
        except PruneScopeError as error:
            unknown += len(of_kind)
            yield f"{first.dataset}, {first.network}: no estimate. {error}"
            continue
        training, testing = _rates(first, lab)
        yield f"{first.dataset}, {first.network}: {training:,.0f} images a second in training, {testing:,.0f} in testing."
        total += sum(_images(spec, len(lab.training)) / training for spec in of_kind)
        tested = len(lab.test) + len(lab.validation)
        total += sum((spec.n_levels + 1) * tested / testing for spec in of_kind)
    if total:
        more = f" and {unknown} runs of unknown length" if unknown else ""
        yield f"About {_hours(total / workers)} with {workers} workers{more}."


def _images(spec: RunSpec, n: int) -> float:
    return n * (spec.epochs + spec.n_levels * (spec.epochs_after or spec.epochs))


def _rates(spec: RunSpec, lab: Laboratory) -> tuple[float, float]:
    """Images a second in training and in testing, one process."""
    few = lab.training.part(torch.arange(min(MEASURED_IMAGES, len(lab.training))))
    network = lab.new_network(spec)
    masks = full_masks(network)

    def train() -> None:
        train_network(network, few, masks, Lesson(spec, 1, generator(0, 0, "estimate")))

    return len(few) / _seconds(train), len(few) / _seconds(lambda: evaluate_network(network, few))


def _seconds(act: Callable[[], object]) -> float:
    begun = time.monotonic()
    act()
    return time.monotonic() - begun


def _hours(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
